import { spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { parseComposition } from "@xfn/composition";
import { readDocuments } from "@xfn/json/document";
import { render } from "@xfn/pipeline";
import { RunRecorder, writeRecording } from "@xfn/pipeline/recording";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { type Finished, runXfn } from "../../testing/run-xfn.ts";

// Replays of a Composition with a container, a chroot, a module, a webhook and a function package. None of them exists.

const XR =
  "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: thing}\nspec: {size: 3, apiKey: key-of-the-user}\n";
const HEAD = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
`;
const PIPELINE = `${HEAD}  mode: Pipeline
  pipeline:
  - {step: contained, type: Container, container: {image: registry.invalid/contained:v1}}
  - {step: rooted, type: Chroot, container: {image: registry.invalid/rooted:v1, network: Accessible}}
  - {step: list, type: Container, io: KRM, container: {image: registry.invalid/list:v1}}
  - {step: module, type: Wasm, wasm: {image: registry.invalid/module:v1}}
  - {step: hook, type: Webhook, webhook: {url: "https://hook.invalid/fn"}}
  - {step: packaged, functionRef: {package: "registry.invalid/packaged:v1"}}
`;

let dir: string;
let files: string[];
let recording: string;

beforeAll(async () => {
  dir = temporaryFolder();
  files = [write("xr.yaml", XR), write("composition.yaml", PIPELINE)];
  recording = join(dir, "recording");
  const recorder = new RunRecorder();
  const [[composite], [composition]] = [readDocuments(XR), readDocuments(PIPELINE)];
  if (composite === undefined || composition === undefined) throw new Error("no document");
  const callers = recorder.callers({
    runner: { run: async (_, input) => await Promise.resolve(input) },
    webhooks: { call: async (_, input) => await Promise.resolve(input) },
    functions: {
      connect: async () =>
        await Promise.resolve({
          run: async ({ desired }) =>
            await Promise.resolve({
              response: {
                desired: {
                  ...desired,
                  resources: new Map([
                    [
                      "made",
                      {
                        resource: {
                          apiVersion: "v1",
                          kind: "Secret",
                          metadata: { name: "a" },
                          data: { key: "bWFkZS1zZWNyZXQ=" },
                        },
                      },
                    ],
                  ]),
                },
                results: [],
                conditions: [],
                requirements: { extraResources: new Map(), resources: new Map(), schemas: new Map() },
              },
              rounded: [],
              requestBytes: 0,
              responseBytes: 0,
            }),
        }),
    },
  });
  await render({ composite: composite.value, composition: parseComposition(composition), ...callers });
  writeRecording(recording, recorder.finish({}));
});

function write(name: string, content: string): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

const xfn = (...args: string[]): Promise<Finished> => runXfn(["render", ...args]);

/** The names of what a task starts outside of this process. */
async function startedBy(task: () => unknown): Promise<string[]> {
  const started: string[] = [];
  const listeners = ["child_process", "net.client.socket"].map((name) => ({ name, on: () => void started.push(name) }));
  for (const { name, on } of listeners) subscribe(name, on);
  try {
    await task();
  } finally {
    for (const { name, on } of listeners) unsubscribe(name, on);
  }
  return started;
}

test("starts no process and opens no connection", async () => {
  let result: Awaited<ReturnType<typeof xfn>> | undefined;
  expect(await startedBy(async () => (result = await xfn(...files, "--replay", recording)))).toEqual([]);
  expect(result).toMatchObject({ code: 0, stderr: "" });
  // A value that a function made is not in the input, and stays masked.
  expect(result?.stdout).toMatch(/^kind: Secret$/m);
  expect(result?.stdout).toMatch(/key: \(secret \d+\)/);
  expect(result?.stdout).not.toContain("bWFkZS1zZWNyZXQ=");
  // The same check finds a process and a connection.
  const probe = async (): Promise<void> => {
    await once(spawn("true"), "close");
    await once(connect(join(dir, "no.sock")), "error");
  };
  expect(await startedBy(probe)).toEqual(["child_process", "net.client.socket"]);
});

test("an input that differs fails with the step, the field and both values; --ignore-differences warns", async () => {
  const other = [write("other.yaml", XR.replace("size: 3", "size: 4")), ...files.slice(1)];
  const { code, stdout, stderr } = await xfn(...other, "--replay", recording);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain('step "contained" gets another input');
  expect(stderr).toContain("observed.composite.resource.spec.size: recorded 3, now 4");
  const ignoring = await xfn(...other, "--replay", recording, "--ignore-differences");
  expect(ignoring.code).toBe(0);
  expect(ignoring.stdout).toContain("kind: Secret");
  expect(ignoring.stderr.match(/warning: step/g)).toHaveLength(6);
});

test("a folder without a recording is wrong input", async () => {
  expect(await xfn(...files, "--replay", join(dir, "none"))).toMatchObject({ code: 2, stdout: "" });
});

test.each([
  ["--record", "a", "--replay", "b"],
  ["--replay", "b", "--runner", "unix:/run/x.sock"],
  ["--ignore-differences"],
])("refuses flags without an effect: %s %s %s %s", async (...flags) => {
  expect(await xfn(...files, ...flags.filter((flag) => flag !== undefined))).toMatchObject({ code: 2 });
});

test("--record of templates alone has no steps, and refuses a folder with other files", async () => {
  const templates = write(
    "templates.yaml",
    `${HEAD}  resources:\n  - name: a\n    base: {apiVersion: v1, kind: ConfigMap}\n`,
  );
  const [xr = ""] = files;
  const target = join(dir, "new", "recording");
  const { code, stderr } = await xfn(xr, templates, "--record", target);
  expect(code).toBe(0);
  expect(stderr).toContain("no step called a function");
  expect(readFileSync(join(target, "recording.yaml"), "utf8")).toContain("steps: []");
  expect(await xfn(xr, templates, "--replay", target)).toMatchObject({ code: 0, stderr: "" });
  const other = join(dir, "other");
  mkdirSync(other);
  writeFileSync(join(other, "notes.md"), "mine");
  expect(await xfn(xr, templates, "--record", other)).toMatchObject({ code: 2, stdout: "" });
});
