// Light, dark, or what the system says.
import { effect, signal } from "@preact/signals";

const kName = "postrider.theme";
const kThemes = ["system", "light", "dark"] as const;
export type Theme = (typeof kThemes)[number];

function stored(): Theme {
  const name = localStorage.getItem(kName);
  return kThemes.find((theme) => theme === name) ?? "system";
}

export const theme = signal<Theme>(stored());

export function switchTheme(): void {
  theme.value = kThemes[(kThemes.indexOf(theme.value) + 1) % kThemes.length] ?? "system";
}

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  if (theme.value === "system") localStorage.removeItem(kName);
  else localStorage.setItem(kName, theme.value);
});
