import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { XFN_MAIN } from "../harness/paths.ts";
import { withMoreTime } from "../harness/patience.ts";
import { USERS, Workspace } from "../harness/workspace.ts";

// A function whose outcome depends on `mood` of the composite.
const FUNCTION = `#!/bin/sh
io=$(cat)
case $io in
*'"mood":"sleeps"'*) trap "" TERM INT; sleep 86399 ;;
*'"mood":"garbage"'*) printf 'log line \\033[31m' ;;
*'"mood":"silent"'*) ;;
*'"mood":"twice"'*) printf '%s\\n---\\n%s\\n' "$io" "$io" ;;
*'"mood":"dies"'*) printf '\\033[2Jwhy it died\\n' >&2; exit 3 ;;
*'"mood":"fatal"'*) printf '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","observed":{},'
  echo '"results":[{"severity":"Fatal","message":"no \\u001b[2J good"}]}' ;;
*) printf '%s' "$io" ;;
esac
`;

const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: moods}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XMood}
  functions:
  - {name: before, type: Container, container: {image: "test/mood"}}
  - {name: after, type: Container, container: {image: "test/mood"}}
`;

function xr(mood: string): string {
  return `apiVersion: example.org/v1\nkind: XMood\nmetadata: {name: moody}\nspec: {mood: ${mood}}\n`;
}

describe.each(USERS)("xfn as %s", (as) => {
  describe("with real containers", as === "self" ? needs("crun") : needs("crun", "ordinary-user"), () => {
    let workspace: Workspace;
    let state: Before;
    beforeAll(async () => {
      workspace = await Workspace.create({ as });
      await workspace.write("mood/function", FUNCTION, { mode: 0o755 });
      await workspace.write("composition.yaml", composition);
      const built = await workspace.xfn(["build", "mood", "-t", "test/mood"]);
      expect(built).toMatchObject({ code: 0, stdout: expect.stringMatching(/^test\/mood@sha256:[0-9a-f]{64}\n$/) });
      state = await before(workspace.root);
    });
    afterAll(async () => {
      await workspace[Symbol.asyncDispose]();
    });

    const render = (mood: string, ...args: string[]): ReturnType<Workspace["xfn"]> =>
      workspace.xfn(["render", "-", "composition.yaml", ...args], { input: xr(mood) });

    test("render prints the XR, and nothing on stderr without a warning", async () => {
      const { code, stdout, stderr } = await render("fine");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^---\napiVersion: example.org\/v1\nkind: XMood\n/);
    });

    test.each([
      ["garbage", /step "before".*not a FunctionIO/],
      ["silent", /step "before".*nothing/],
      ["twice", /step "before".*more than one document/],
      ["dies", /before.*exited with code 3[\s\S]*why it died/],
    ])(
      "a function that is %s: exit code 1, no partial output, the name of its step, no escape sequence",
      async (mood, message) => {
        const { code, stdout, stderr } = await render(mood);
        expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
        expect(stderr).toMatch(message);
        expect(stderr).not.toContain("\u001b");
        expect(await leftovers(state)).toEqual([]);
      },
    );

    test("a fatal result is exit code 1, an escaped message on stderr, and a document with -r", async () => {
      const { code, stdout, stderr } = await render("fatal", "-r");
      expect(code).toBe(1);
      expect(stdout).toMatch(/kind: Result\n[\s\S]*severity: Fatal/);
      expect(stderr).toMatch(/^xfn: fatal: step "before": no .*good$/m);
      expect(stderr).not.toContain("\u001b");
    });

    test("--timeout ends the whole run", async () => {
      // On a busy machine the time may end before the first step begins.
      const { seconds, stderr } = await withMoreTime(1_000, async (ms) => {
        const ended = await render("sleeps", "--timeout", `${ms / 1_000}s`);
        expect(ended).toMatchObject({ code: 1, stdout: "" });
        return ended.stderr.includes('"before"') ? { seconds: ms / 1_000, stderr: ended.stderr } : undefined;
      });
      expect(stderr).toMatch(new RegExp(`${seconds} s \\(--timeout\\).*"before"`));
      expect(await leftovers(state)).toEqual([]);
    });

    test.each([
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const)(
      "%s while a function runs: exit code %i, and no processes or files remain",
      async (signal, expected) => {
        const run = workspace.startXfn(["render", "-", "composition.yaml"], { input: xr("sleeps") });
        await untilRunning("sleep\u{0}86399");
        run.child.kill(signal);
        expect(await run.finished).toMatchObject({ code: expected, stdout: "" });
        expect(await leftovers(state)).toEqual([]);
      },
    );

    test("a closed stdout is a failure without a stack trace", async () => {
      const script = `"$0" "$1" render xr.yaml composition.yaml | true; exit "\${PIPESTATUS[0]}"`;
      await workspace.write("xr.yaml", xr("fine"));
      const { code, stderr } = await workspace.start(["bash", "-c", script, process.execPath, XFN_MAIN]).finished;
      expect(code).not.toBe(0);
      expect(stderr).not.toMatch(/\n\s+at /);
    });

    test("run reads YAML, and prints the function's FunctionIO as one line of JSON", async () => {
      const input =
        "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\nobserved: {}\nx-kept: 9007199254740993\n";
      const { code, stdout } = await workspace.xfn(["run", "test/mood"], { input });
      expect(code).toBe(0);
      expect(stdout).toMatch(/^\{"apiVersion":.*"x-kept":9007199254740993.*\}\n$/);
    });

    test("a second build gives the same image, also in an OCI layout", async () => {
      const [first, again, layout] = await Promise.all([
        workspace.xfn(["build", "mood", "-t", "test/mood"]),
        workspace.xfn(["build", ".", "-t", "test/mood"], { cwd: workspace.path("mood") }),
        workspace.xfn(["build", "mood", "-t", "test/mood", "-o", "oci:layout"]),
      ]);
      expect(again.stdout).toBe(first.stdout);
      expect(layout.stdout).toBe(first.stdout);
    });

    test("an oci: image is relative to the file that names it", async () => {
      await workspace.xfn(["build", "mood", "-t", "test/mood", "-o", "oci:deep/images/mood"]);
      await workspace.write("deep/composition.yaml", composition.replaceAll('"test/mood"', '"oci:images/mood"'));
      const { code } = await workspace.xfn(["render", "-", "deep/composition.yaml"], { input: xr("fine") });
      expect(code).toBe(0);
    });

    test("doctor reports that containers can run, as text and as JSON", async () => {
      const [words, json] = await Promise.all([workspace.xfn(["doctor"]), workspace.xfn(["doctor", "-o", "json"])]);
      expect(words.code).toBe(0);
      expect(words.stdout).toMatch(/crun/);
      const report = JSON.parse(json.stdout) as { canRun: boolean; checks: { id: string; status: string }[] };
      expect(report.canRun).toBe(true);
      const status = Object.fromEntries(report.checks.map((check) => [check.id, check.status]));
      expect(status).toMatchObject({ platform: "ok", "user-namespaces": "ok", "fresh-proc": "ok" });
      expect(await leftovers(state)).toEqual([]);
    });

    test("doctor's report of limits matches the call of a function with a limit", async () => {
      const { stdout } = await workspace.xfn(["doctor", "--json"]);
      const { checks } = JSON.parse(stdout) as { checks: { id: string; status: string }[] };
      const enforceable = checks.find(({ id }) => id === "limits")?.status === "ok";
      const input = '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","observed":{}}';
      const { code } = await workspace.xfn(["run", "test/mood", "--memory", "100Mi", "--cpu", "500m"], { input });
      expect(code === 0).toBe(enforceable);
    });
  });
});

describe("xfn", () => {
  test("starts without loading the commands", () => {
    const { status, stdout } = spawnSync(process.execPath, [XFN_MAIN, "--version"], { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});

// The output of a function is read when it exits, so look for its processes instead.
async function untilRunning(commandLine: string): Promise<void> {
  const running = (): boolean =>
    readdirSync("/proc").some((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(commandLine);
      } catch {
        return false;
      }
    });
  while (!running()) await sleep(20);
}
