import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHECKOUT, XFN_MAIN } from "../harness/paths.ts";
import { Workspace } from "../harness/workspace.ts";

// The program with Compositions of templates alone, which need no container.

const XR = "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: thing}\nspec: {}\n";
// More than the capacity of a pipe, so that the writer gets EPIPE.
const RESOURCES = Array.from(
  { length: 2000 },
  (_, index) => `  - {name: r${index}, base: {apiVersion: v1, kind: ConfigMap, data: {text: ${"x".repeat(300)}}}}\n`,
);
const COMPOSITION = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  resources:
${RESOURCES.join("")}`;

let workspace: Workspace;
beforeAll(async () => {
  workspace = await Workspace.create();
  await workspace.write("xr.yaml", XR);
  await workspace.write("composition.yaml", COMPOSITION);
  const { code, stdout } = await workspace.xfn(["render", "xr.yaml", "composition.yaml"]);
  expect(code).toBe(0);
  await workspace.write("rendered.yaml", stdout);
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
});

test.each(["render xr.yaml composition.yaml", "validate composition.yaml rendered.yaml"])(
  "a closed stdout is a failure without a stack trace: xfn %s",
  async (command) => {
    // `true` does not read, and the output is larger than a pipe.
    const script = `{ "$0" "$1" ${command}; echo "code $?" >&2; } | true`;
    const { stderr } = await workspace.start(["bash", "-c", script, process.execPath, XFN_MAIN]).finished;
    expect(stderr).toMatch(/code [1-9]/);
    expect(stderr).not.toMatch(/\n\s+at /);
  },
);

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s while a render of templates waits for its input: exit code %i, and no output", async (signal, code) => {
  // Both ends of stdin stay open, so that a read blocks.
  const script = 'mkfifo "$2"; exec 3<>"$2" <"$2" "$0" "$1" render - composition.yaml';
  const pipe = workspace.path(signal);
  const run = workspace.start(["bash", "-c", script, process.execPath, XFN_MAIN, pipe]);
  await untilHandlersAreSet(run.child.pid);
  run.child.kill(signal);
  expect(await run.finished).toMatchObject({ code, stdout: "" });
});

/** Waits until xfn has its signal handlers. Node itself handles SIGINT and SIGTERM, but not SIGHUP, the lowest bit. */
describe("the evaluator of CEL", () => {
  const DIST = join(CHECKOUT, "packages/cli/dist");
  const PRINT_LOADED =
    'process.on("exit", () => console.error(Object.keys(process.getBuiltinModule("node:module")._cache).join(" ")))';

  async function filesOf(args: readonly string[]): Promise<string[]> {
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(PRINT_LOADED)}`;
    const { code, stderr } = await workspace.xfn(["render", ...args], { env: { NODE_OPTIONS } });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return readdirSync(DIST).filter((name) => name.startsWith("xfn-render-") && stderr.includes(`/${name}`));
  }

  beforeAll(async () => {
    const when = `'observed.composite.resource.kind == "Other"'`;
    const step = `{name: none, type: Webhook, webhook: {url: "https://f.example.org/"}, when: ${when}}`;
    await workspace.write(
      "guarded.yaml",
      COMPOSITION.replace("  resources:\n", `  functions: [${step}]\n  resources:\n`),
    );
    await workspace.write(
      "definition.yaml",
      `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings}
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]
`,
    );
  });

  test("is not in the file of xfn render", () => {
    const message = "no such overload";
    expect(readFileSync(join(DIST, "xfn-render-guard.cjs"), "utf8")).toContain(message);
    expect(readFileSync(join(DIST, "xfn-render.cjs"), "utf8")).not.toContain(message);
  });

  test.each([
    [["xr.yaml", "composition.yaml"], []],
    [["xr.yaml", "guarded.yaml"], ["xfn-render-guard.cjs"]],
    [["xr.yaml", "composition.yaml", "--xrd", "definition.yaml"], ["xfn-render-definition.cjs"]],
  ])("render %j loads %j", async (args, loaded) => {
    expect(await filesOf(args)).toEqual(loaded);
  });
});

async function untilHandlersAreSet(pid: number | undefined): Promise<void> {
  for (;;) {
    const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
    const program = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[1];
    if (program === XFN_MAIN && (BigInt(`0x${caught}`) & 1n) === 1n) return;
    await sleep(20);
  }
}
