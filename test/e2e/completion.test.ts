import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { XFN_MAIN } from "../harness/paths.ts";

let folder = "";
const scripts: Record<string, string> = {};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "xfn-completion-test-"));
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = spawnSync(process.execPath, [XFN_MAIN, "completion", shell], { encoding: "utf8" });
    scripts[shell] = join(folder, shell);
    writeFileSync(join(folder, shell), stdout);
  }
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const LINES: [string, string[], string[]][] = [
  ["a command", ["xfn", "re"], ["render"]],
  ["a command of a command", ["xfn", "xpkg", "ex"], ["extract"]],
  ["a long flag", ["xfn", "render", "xr.yaml", "--observed"], ["--observed-resources"]],
  ["a flag of the right command only", ["xfn", "types", "--observed"], []],
];

function shell(program: string, args: string[], input?: string): string[] {
  const { stdout } = spawnSync(program, args, { encoding: "utf8", input, env: { ...process.env, HOME: folder } });
  return stdout.split("\n").filter((line) => line !== "");
}

describe("bash completes", () => {
  test.each(LINES)("%s", (_, words, expected) => {
    const line = `source ${scripts["bash"]}; COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _xfn`;
    expect(shell("bash", ["-c", `${line}; printf '%s\\n' "\${COMPREPLY[@]}"`])).toEqual(expected);
  });
});

describe("fish completes", needs("fish"), () => {
  test.each(LINES)("%s", (_, words, expected) => {
    const line = `source ${scripts["fish"]}; complete -C '${words.join(" ")}'`;
    expect(shell("fish", ["--no-config", "-c", line]).map((found) => found.split("\t")[0])).toEqual(expected);
  });
});

describe("zsh", needs("zsh"), () => {
  test("takes the script, and completes xfn with it", () => {
    const line = `autoload -U compinit && compinit -u; source ${scripts["zsh"]}; print $_comps[xfn]`;
    expect(shell("zsh", ["-f", "-c", line]).join()).toContain("_bash_complete");
  });
});

test("another shell is refused with the names of those that work", () => {
  const { status, stderr } = spawnSync(process.execPath, [XFN_MAIN, "completion", "powershell"], { encoding: "utf8" });
  expect(status).toBe(2);
  expect(stderr).toContain("bash, zsh, fish");
});
