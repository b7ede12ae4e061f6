// The dashboard: a frame with places, and the page that the fragment names.
import { effect } from "@preact/signals";
import { render } from "preact";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { whoami } from "./api.ts";
import { helpShown, kPlaces, listenToKeys } from "./keyboard.ts";
import { Audit } from "./pages/audit.tsx";
import { DeadLetters } from "./pages/dead_letters.tsx";
import { DestinationPage } from "./pages/destination.tsx";
import { Destinations } from "./pages/destinations.tsx";
import { GroupPage, Groups } from "./pages/groups.tsx";
import { JobPage, Jobs } from "./pages/jobs.tsx";
import { MailboxPage, Mailboxes } from "./pages/mailboxes.tsx";
import { MessagePage } from "./pages/message.tsx";
import { Overview } from "./pages/overview.tsx";
import { ProfilePage } from "./pages/profile.tsx";
import { isMessageId, link } from "./paths.ts";
import { go, route } from "./route.ts";
import { mayOperate, mayRead, setToken, token, tokenWanted, unreachable, who } from "./session.ts";
import { switchTheme, theme } from "./theme.ts";
import { Dialog, Empty, Toasts, say, submitted } from "./ui.tsx";

function page(): { title: string; body: ComponentChildren } {
  const [place, name] = route.value.parts;
  switch (place) {
    case undefined: return { title: "Overview", body: <Overview /> };
    case "destinations":
      return name === undefined
        ? { title: "Destinations", body: <Destinations /> }
        : { title: name, body: <DestinationPage key={name} name={name} /> };
    case "groups":
      return name === undefined ? { title: "Groups", body: <Groups /> } : { title: `Group ${name}`, body: <GroupPage key={name} name={name} /> };
    case "mailboxes":
      return name === undefined ? { title: "Mailboxes", body: <Mailboxes /> } : { title: `Mailbox ${name}`, body: <MailboxPage key={name} name={name} /> };
    case "messages": return { title: `Message ${name ?? ""}`, body: <MessagePage key={name} id={name ?? ""} /> };
    case "dead-letters": return { title: "Dead letters", body: <DeadLetters /> };
    case "jobs":
      return name === undefined ? { title: "Jobs", body: <Jobs /> } : { title: `Job ${name}`, body: <JobPage key={name} id={name} /> };
    case "profiles": return { title: "Profiles", body: <ProfilePage key={name} name={name} /> };
    case "audit": return { title: "Audit", body: <Audit /> };
    default:
      return {
        title: "Nothing here",
        body: <Empty title="There is no such page">Go to the <a href="#/">overview</a>, or press <kbd>?</kbd>.</Empty>,
      };
  }
}

function FindMessage() {
  const [text, setText] = useState("");
  const find = () => {
    const id = text.trim().toLowerCase();
    if (!isMessageId(id)) return say("A message id has 32 hexadecimal digits", true);
    setText("");
    go(link(["messages", id]));
  };
  return (
    <form class="find" role="search" onSubmit={submitted(find)}>
      <input data-find type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="Message id" aria-label="Find a message by its id" spellcheck={false} autocomplete="off" />
    </form>
  );
}

function Header() {
  const here = route.value.parts[0] ?? "";
  const kThemeNames = { system: "◐", light: "☀", dark: "☾" };
  return (
    <header>
      <a class="brand" href="#/">Postrider</a>
      <nav aria-label="Places">
        {kPlaces.map((place) => (
          <a key={place.key} href={place.to} title={`g ${place.key}`} aria-current={`#/${here}` === place.to ? "page" : undefined}>{place.name}</a>
        ))}
      </nav>
      <div class="tools">
        <FindMessage />
        {who.value !== undefined && !mayOperate.value && <span class="chip" title="This token has no scope operate">read-only</span>}
        {token.value !== "" && <button type="button" class="plain" onClick={signOut}>Forget token</button>}
        <button type="button" class="plain icon" onClick={switchTheme} aria-label={`Theme: ${theme.value}. Switch`} title={`Theme: ${theme.value} (t)`}>{kThemeNames[theme.value]}</button>
        <button type="button" class="plain icon" onClick={() => (helpShown.value = true)} aria-label="Keys" title="Keys (?)">?</button>
      </div>
    </header>
  );
}

function signOut() {
  setToken("");
  who.value = undefined;
  void greet();
}

function TokenForm() {
  const [text, setText] = useState("");
  const use = () => {
    setToken(text.trim());
    void greet();
  };
  return (
    <form class="card token" onSubmit={submitted(use)}>
      <h1>This daemon wants a token</h1>
      <p class="faint">{token.value === "" ? "A token with the scope read shows everything; operate also lets you act." : tokenWanted.value}</p>
      <label>Bearer token<input type="password" value={text} onInput={(event) => setText(event.currentTarget.value)} autocomplete="off" autofocus required /></label>
      <button class="action strong">Use it</button>
      <p class="faint">It is kept in this tab only, until the tab is closed. The daemon's configuration lists its tokens under <code>[[tokens]]</code>.</p>
    </form>
  );
}

function Help() {
  const rows: [string, string][] = [
    ...kPlaces.map((place): [string, string] => [`g ${place.key}`, place.name]),
    ["j / k", "next, previous row"], ["Enter", "open the row"], ["/", "filter, or find a message"],
    ["t", "light, dark, as the system"], ["Esc", "close, leave a field"], ["?", "this list"],
  ];
  return (
    <Dialog title="Keys" close={() => (helpShown.value = false)}>
      <dl class="keys">
        {rows.map(([key, what]) => <div key={key}><dt>{key.split(" ").map((one) => one === "/" && key !== "/" ? " / " : <kbd>{one}</kbd>)}</dt><dd>{what}</dd></div>)}
      </dl>
      <form method="dialog" class="buttons"><button class="action">Close</button></form>
    </Dialog>
  );
}

// Asks who we are; without an answer there is nothing to show.
async function greet(): Promise<void> {
  tokenWanted.value = undefined;
  try {
    who.value = await whoami();
  } catch {
    if (tokenWanted.value === undefined) setTimeout(() => void greet(), 2000);
  }
}

function Body() {
  if (tokenWanted.value !== undefined) return <TokenForm />;
  if (who.value === undefined) return <p class="faint" aria-busy="true">Asking the daemon…</p>;
  if (!mayRead.value) {
    return <Empty title="This token may not read">Use one with the scope <code>read</code>: forget this one, and give another.</Empty>;
  }
  return <>{page().body}</>;
}

function App() {
  const title = page().title;
  useEffect(() => {
    document.title = `${title} · Postrider`;
    scrollTo(0, 0);
  }, [title]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.querySelector("main")?.focus(); }}>To the content</a>
      <Header />
      {unreachable.value && <div class="banner" role="alert">The daemon does not answer. What you see is what was known last.</div>}
      <main id="main" tabIndex={-1}><Body /></main>
      <footer>{who.value !== undefined && <>postrider {who.value.version} · tenant {who.value.tenant} · <a href="/openapi.json">API</a></>}</footer>
      {helpShown.value && <Help />}
      <Toasts />
    </>
  );
}

effect(() => {
  if (unreachable.value) console.info("the daemon does not answer");
});
listenToKeys();
void greet();
const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
