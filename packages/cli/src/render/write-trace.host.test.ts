import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseComposition } from "@xfn/composition";
import type { Desired } from "@xfn/functionio";
import { readDocuments } from "@xfn/json/document";
import type { StepRecord } from "@xfn/pipeline";
import { buildTrace, type Trace } from "@xfn/pipeline/trace";
import pico from "picocolors";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { printTrace } from "../trace/print-trace.ts";
import type { TraceForm } from "./render-options.ts";
import { DEFAULT_PAGE, writeTrace } from "./write-trace.ts";

const [document] = readDocuments(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: stores}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XStore}
  resources:
  - {name: bucket, base: {apiVersion: v1, kind: ConfigMap}}
  functions:
  - {name: one, type: Container, container: {image: registry.example.org/one}}
  - {name: two, type: Container, container: {image: registry.example.org/two}}
`);

const templates = (after: Desired): StepRecord => ({
  name: "templates",
  kind: "templates",
  inputBytes: 0,
  outputBytes: 0,
  ms: 1.26,
  phases: {},
  before: {},
  after,
  results: [],
  writes: [
    {
      resource: "bucket",
      path: "spec.region",
      template: "bucket",
      source: "spec.resources[0].patches[0]",
      from: "FromCompositeFieldPath spec.region",
    },
  ],
});

const step = (name: string, before: Desired, after: Desired, rest: Partial<StepRecord> = {}): StepRecord => ({
  name,
  kind: "function",
  image: `registry.example.org/${name}`,
  inputBytes: 812,
  outputBytes: 1234,
  ms: 212.3,
  phases: { pull: 3.2, start: 118, run: 82 },
  before,
  after,
  results: [],
  ...rest,
});

function traced(records: StepRecord[], name = "store"): Trace {
  if (document === undefined) throw new Error("no document");
  const composite = { apiVersion: "example.org/v1", kind: "XStore", metadata: { name } };
  return buildTrace({ records, composite, composition: parseComposition(document) });
}

const first: Desired = {
  resources: [{ name: "bucket", resource: { apiVersion: "v1", kind: "Bucket", spec: { region: "eu", size: 1 } } }],
};
const second: Desired = {
  composite: { resource: { status: { host: "h" } } },
  resources: [{ name: "bucket", resource: { apiVersion: "v1", kind: "Bucket", spec: { region: "eu", size: "2" } } }],
};
const third: Desired = { resources: [{ name: "bucket", resource: null }] };

const plain = (trace: Trace): string => printTrace(trace, pico.createColors(false));

describe("as text", () => {
  test("has each step with its duration and changes, and each field with its patch or base", () => {
    const warning = { severity: "Warning" as const, message: "small", step: "one" };
    const trace = traced([
      templates(first),
      step("one", first, second, { results: [warning] }),
      step("two", second, third, { phases: {} }),
    ]);
    expect(plain(trace)).toBe(`Trace of XStore store, composed by stores: 3 steps in 426 ms

1. templates: 1.3 ms
   + bucket (Bucket): added, 4 fields
     + apiVersion: v1  <- base, spec.resources[0].base
     + kind: Bucket  <- base, spec.resources[0].base
     + spec.region: eu  <- FromCompositeFieldPath spec.region, spec.resources[0].patches[0]
     + spec.size: 1  <- base, spec.resources[0].base

2. one registry.example.org/one: 212 ms (pull 3.2 ms, start 118 ms, run 82 ms), 812 B in, 1.2 kB out
   + XR: added, 1 field
     + status.host: h
   ~ bucket (Bucket)
     ~ spec.size: 1 -> "2"
   warning: small

3. two registry.example.org/two: 212 ms, 812 B in, 1.2 kB out
   - XR: no longer desired; the existing object is not changed
   x bucket: to be deleted`);
  });

  test("has one line for the identity of a resource", () => {
    const metadata = { generateName: "store-", labels: { "crossplane.io/composite": "store", team: "a" } };
    const text = plain(traced([templates({ resources: [{ name: "bucket", resource: { metadata } }] })]));
    expect(text).toContain(`   + bucket: added, 3 fields
     + metadata.labels.team: a  <- base, spec.resources[0].base
     + 2 fields of its identity: names, labels, owner`);
  });

  test("says where the run ended, and which steps did not run", () => {
    const error = { code: "RunFailed", message: "it could not\nbe run" };
    const text = plain(traced([templates(first), step("one", first, first, { error })]));
    expect(text).toContain("out, failed: the run ended here\n   RunFailed: it could not\n   be run");
    expect(text).toContain("3. two registry.example.org/two: did not run");
  });

  test("has the first fields of a large step, and their number", () => {
    const data = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, index]));
    const after: Desired = {
      resources: [
        { name: "a", resource: { data } },
        { name: "b", resource: { data } },
      ],
    };
    const lines = plain(traced([step("one", {}, after)])).split("\n");
    expect(lines.length).toBeLessThan(60);
    expect(lines.join("\n")).toContain("fields in all, in 2 entries: 10000 added, 0 changed, 0 removed");
  });

  test("cuts long values to a line", () => {
    const after: Desired = { resources: [{ name: "a", resource: { data: { script: "line\n".repeat(1000) } } }] };
    const longest = Math.max(
      ...plain(traced([step("one", {}, after)]))
        .split("\n")
        .map((line) => line.length),
    );
    expect(longest).toBeLessThan(200);
  });

  test("has colours only on request", () => {
    const trace = traced([templates(first)]);
    expect(plain(trace)).not.toContain("\u001b");
    expect(printTrace(trace, pico.createColors(true))).toContain("\u001b[32m+");
  });
});

describe("written", () => {
  let dir: string;
  beforeEach(() => {
    dir = temporaryFolder();
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  async function write(form: TraceForm, file?: string, trace = traced([templates(first)])): Promise<string> {
    const notes: string[] = [];
    await writeTrace(form, trace, { file, output: { note: (line) => notes.push(line) }, coloured: false });
    return notes.join("\n");
  }

  test("text and JSON go to stderr, or to --trace-file", async () => {
    expect(await write("text")).toMatch(/^Trace of XStore store/);
    expect(JSON.parse(await write("json"))).toMatchObject({ version: 1, steps: [{ name: "templates" }, {}, {}] });
    for (const form of ["text", "json"] as const) {
      const file = join(dir, form);
      expect(await write(form, file)).toBe(`xfn: trace written to ${file}`);
      expect(readFileSync(file, "utf8")).toBe(`${await write(form)}\n`);
    }
  });

  test("a file is for the user alone, also one that exists", async () => {
    const [fresh, old] = [join(dir, "fresh"), join(dir, "old")];
    writeFileSync(old, "");
    chmodSync(old, 0o666);
    for (const file of [fresh, old]) {
      await write("json", file);
      expect(statSync(file).mode & 0o777, file).toBe(0o600);
    }
  });

  test("a page goes to trace.html by default", async () => {
    expect(DEFAULT_PAGE).toBe("trace.html");
    const file = join(dir, "page.html");
    await write("html", file);
    expect(readFileSync(file, "utf8")).toMatch(/^<!doctype html>/);
  });

  test("reports a file that cannot be written", async () => {
    await expect(write("json", join(dir, "none", "x"))).rejects.toMatchObject({
      code: "Failed",
      message: expect.stringContaining("none/x (ENOENT)") as string,
    });
    writeFileSync(join(dir, "file"), "");
    await expect(write("json", join(dir, "file", "x"))).rejects.toMatchObject({ code: "Failed" });
  });

  test("a file of another user stays as it is, and the error is one line with the way out", async () => {
    const file = join(dir, "theirs");
    writeFileSync(file, "theirs");
    vi.spyOn(process, "geteuid").mockReturnValue(statSync(file).uid + 1);
    await expect(write("json", file)).rejects.toMatchObject({
      code: "Failed",
      message: `cannot write the trace to ${file} (EPERM): the file or its folder belongs to another user; choose another file with --trace-file`,
    });
    expect(readFileSync(file, "utf8")).toBe("theirs");
  });

  test("an earlier, longer trace is replaced", async () => {
    const file = join(dir, "old");
    writeFileSync(file, "x".repeat(1_000_000));
    await write("json", file);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ version: 1 });
  });

  test("stdout is refused", async () => {
    await expect(write("json", "-")).rejects.toMatchObject({ code: "Usage" });
  });

  const HOSTILE = "\u001b[2J\u009b31m\u202e</script><script>alert(1)</script><!--\u2028";
  const hostile = (): Trace => {
    const after: Desired = {
      resources: [{ name: HOSTILE, resource: { kind: HOSTILE, spec: { [HOSTILE]: HOSTILE } }, [HOSTILE]: HOSTILE }],
    };
    const results = [{ severity: "Warning" as const, message: HOSTILE, step: HOSTILE }];
    const error = { code: "RunFailed", message: HOSTILE };
    return traced([step(HOSTILE, {}, after, { image: HOSTILE, results, error })], HOSTILE);
  };

  test.each(["text", "json"] as const)("%s cannot steer a terminal", async (form) => {
    const text = await write(form, undefined, hostile());
    expect(text.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
    if (form === "json") expect(JSON.parse(text)).toMatchObject({ composite: { name: HOSTILE } });
  });

  test("a page contains no text that a browser could parse as HTML", async () => {
    const file = join(dir, "page.html");
    await write("html", file, hostile());
    const html = readFileSync(file, "utf8");
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html.match(/<\/script/g)).toHaveLength(2);
    expect(html).not.toMatch(/<!--|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(html).not.toMatch(/\s(src|href)=/);
  });

  test("no form contains a secret", async () => {
    const secret = "hunter2-is-a-secret";
    const base64 = Buffer.from(secret).toString("base64");
    const after: Desired = {
      composite: { connectionDetails: [{ name: "a", value: secret }] },
      resources: [
        {
          name: "secret",
          resource: { apiVersion: "v1", kind: "Secret", data: { a: base64 }, stringData: { b: secret } },
          connectionDetails: [{ type: "FromValue", name: "c", value: secret }],
        },
        {
          name: "app",
          resource: { spec: { password: secret, env: [{ name: "TOKEN", value: secret }], url: `x:${secret}@y` } },
        },
      ],
    };
    const results = [{ severity: "Warning" as const, message: `not ${secret}`, step: "one" }];
    const error = { code: "RunFailed", message: `not ${secret}` };
    const trace = traced([step("one", {}, after, { results }), step("two", after, {}, { error, results })]);
    const file = join(dir, "page.html");
    await write("html", file, trace);
    for (const text of [
      await write("text", undefined, trace),
      await write("json", undefined, trace),
      readFileSync(file, "utf8"),
    ]) {
      expect(text).not.toContain("hunter2");
      expect(text).not.toContain(base64);
      expect(text).toContain("hidden");
    }
  });
});
