"""Runs tests against mutants: those first that are quick and have killed before, and only those that come by the mutant."""

import dataclasses
import os
import re
import resource
import signal
import subprocess
import time

TESTS = ("core_test", "shard_test", "acceptance_test", "sim_test", "api_test")
WORLDS = "worlds"  # tools/mutants/worlds.cc
# Not of the engine, or of real processes, sockets and clocks, which fail on a busy machine for reasons of their own.
LEFT_OUT = ("Options.*:Watch.*:Cli*.*:Commands*.*:*Mqtt*:*Http*:*Sink*:ApiEvents.*:Listen*.*:DeviceFigures.*:"
            "*PassesSeedsOfThisCommit*:*PassSeedsOfThisCommit*:Node*.*:Daemon*.*:*Command*.*:Completion*.*:"
            # Many worlds in one test; `worlds` has them one by one.
            "*CrashPoints*:*HasEveryFaultAndEveryRow*:Seeds.ThatFoundABugPass:*HasTheTraceHashes*")
# They notice every change and prove no promise, so they come last and are counted apart.
HASHES = re.compile(r"Hash")
BUDGET = 60.0  # seconds of tests for one mutant
MEMORY = 8 << 30


@dataclasses.dataclass
class Test:
    program: str
    name: str
    seconds: float
    kills: int = 0

    @property
    def key(self):
        return f"{self.program}/{self.name}"


def run(program, directory, names, mutant, seconds):
    """'' when all passed; otherwise the test that did not, or how the process ended."""
    limit = int(4 * seconds + 6)

    def bounds():
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    variables = {**os.environ, "POSTRIDER_MUTANT": str(mutant), "GTEST_COLOR": "no"}
    process = subprocess.Popen([str(program), f"--gtest_filter={':'.join(names)}", "--gtest_fail_fast"], cwd=directory, env=variables,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=bounds,
                               start_new_session=True)
    try:
        out = process.communicate(timeout=20 * limit)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "does not end"
    if process.returncode == 0:
        return ""
    failed = re.search(r"^\[  FAILED  \] (\S+?),? ", out, re.M)
    if failed and process.returncode == 1:
        return failed.group(1).rstrip(",")
    last = re.findall(r"^\[ RUN      \] (\S+)", out, re.M)
    how = {signal.SIGXCPU: "does not end", signal.SIGKILL: "does not end"}.get(-process.returncode, "aborts")
    return f"{last[-1] if last else program.name} {how}"


class Runner:
    def __init__(self, directory, programs, work):
        """`programs`: name -> path; `work`: where the records of what reaches what are kept."""
        self.directory, self.programs, self.work = directory, programs, work
        self.tests, self.reaching, self.always = {}, {}, set()
        self.budget = BUDGET

    def look(self, say):
        """Runs everything once as it is written, and notes which test comes by which mutant."""
        hashes = self.work / "hashes"
        hashes.mkdir(exist_ok=True)
        os.environ["POSTRIDER_HASHES"] = str(hashes)
        for name, program in self.programs.items():
            record = self.work / f"reached_{name}.txt"
            if not record.exists() or record.stat().st_mtime < program.stat().st_mtime:
                say(f"looking what {name} reaches")
                partial = record.with_suffix(".part")
                variables = {**os.environ, "POSTRIDER_MUTANT": "0", "GTEST_COLOR": "no", "POSTRIDER_REACHED": str(partial)}
                subprocess.run(["nice", "-n", "10", str(program), f"--gtest_filter=*-{LEFT_OUT}"], cwd=self.directory, env=variables,
                               stdin=subprocess.DEVNULL, stdout=open(self.work / f"baseline_{name}.txt", "w", encoding="utf-8"),
                               stderr=subprocess.STDOUT, check=False)
                partial.rename(record)
            self.read(name, record, say)

    def read(self, program, record, say):
        bad = []
        for line in record.read_text().splitlines():
            name, elapsed, numbers = line.split("\t")
            if not name:  # before the first test
                self.always.update(int(n) for n in numbers.split())
                continue
            if name.startswith("!"):
                bad.append(name[1:])
                continue
            test = Test(program, name, int(elapsed) / 1000 + 0.001)
            self.tests[test.key] = test
            for number in numbers.split():
                self.reaching.setdefault(int(number), []).append(test.key)
        if bad:
            say(f"{program}: {len(bad)} tests fail or are skipped as it is written, and are left out: {', '.join(bad[:8])}")

    def order(self, number):
        keys = list(self.tests) if number in self.always else self.reaching.get(number, [])
        tests = [self.tests[key] for key in keys]
        return sorted(tests, key=lambda t: (bool(HASHES.search(t.name)), t.seconds / (1 + t.kills)))

    def batches(self, tests):
        """Groups of tests of one program that take a second, then eight, then the rest of the budget."""
        spent, group, bound, hashed = 0.0, [], 1.0, False
        for test in tests:
            if spent + test.seconds > self.budget:
                break
            spent += test.seconds
            is_hash = bool(HASHES.search(test.name))
            if group and (sum(t.seconds for t in group) > bound or is_hash != hashed):
                yield group
                group, bound = [], bound * 8
            hashed = is_hash
            group.append(test)
        if group:
            yield group

    def judge(self, number):
        """(verdict, by, seconds)"""
        begin = time.monotonic()
        tests = self.order(number)
        if not tests:
            return "unreached", "", 0.0
        for group in self.batches(tests):
            for program in dict.fromkeys(t.program for t in group):
                here = [t for t in group if t.program == program]
                killer = run(self.programs[program], self.directory, [t.name for t in here], number, sum(t.seconds for t in here))
                if killer and self.confirmed(program, killer, number):
                    test = self.tests.get(f"{program}/{killer.split(' ')[0]}")
                    if test:
                        test.kills += 1
                    verdict = "hash" if HASHES.search(killer) else "killed"
                    return verdict, f"{program}/{killer}", time.monotonic() - begin
        return "survived", f"{len(tests)} tests", time.monotonic() - begin

    def confirmed(self, program, killer, number):
        """Whether the test fails again by itself; core_test and the simulated worlds always do the same."""
        name = killer.split(" ")[0]
        if program in ("core_test", "sim_test", WORLDS) or f"{program}/{name}" not in self.tests:
            return True
        return bool(run(self.programs[program], self.directory, [name], number, self.tests[f"{program}/{name}"].seconds))
