import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { float64 } from "@xfn/composition";
import { afterAll, describe, expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { rules } from "../vectors/rules.ts";
import { runFolder } from "../vectors/run.ts";
import { bytesToText, fromTyped, textToBytes, toTyped } from "../vectors/typed-value.ts";
import { parseLossless, readVectorFile } from "../vectors/vector-file.ts";

const VECTORS = join(CHECKOUT, "test/vectors");
const folder = mkdtempSync(join(tmpdir(), "xfn-vectors-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A folder with one file of vectors. */
function write(file: string, cases: readonly object[]): string {
  const made = mkdtempSync(join(folder, "one-"));
  const text = JSON.stringify({ description: "", reference: "", cases });
  writeFileSync(join(made, file), file.endsWith(".zst") ? zstdCompressSync(Buffer.from(text)) : text);
  return made;
}

const READY = { name: "one", group: "template", source: "template", readinessChecks: [{ type: "None" }], resource: {} };

test("every vector has the outcome of the reference or of a rule, and none is skipped", async () => {
  const report = await runFolder(VECTORS, rules);
  expect(report.failures).toEqual([]);
  expect(report.unknown).toEqual([]);
  expect(report.passed).toBeGreaterThan(4000);
  expect([...report.rules].filter(([, count]) => count === 0)).toEqual([]);

  expect([...report.skipped]).toEqual([]);
});

describe("a wrong expectation fails", () => {
  test.each([
    "connection-details",
    "fieldpath",
    "functionio-merge",
    "image-spec",
    "patches",
    "readiness",
    "transforms",
    "xrd-crd",
  ])("in %s, for every case that has an output", async (kind) => {
    const cases = readVectorFile(join(VECTORS, `${kind}.json.gz`)).filter(({ output }) => output !== undefined);
    const wrong = cases.map((one) => ({
      ...one,
      output: kind === "transforms" ? { t: "string", v: "wrong" } : "wrong",
    }));
    const made = mkdtempSync(join(folder, "wrong-"));
    // For cases of a rule, the rule replaces the recorded outcome.
    writeFileSync(join(made, `${kind}.json`), JSON.stringify({ cases: wrong }, plain));
    const report = await runFolder(made, []);
    expect(report.passed).toBe(0);
    expect(report.failures.length).toBe(cases.length);
  });

  test("where an error is expected, and where an output is", async () => {
    const failing = write("readiness.json", [{ ...READY, error: "must fail" }]);
    expect((await runFolder(failing, rules)).failures).toMatchObject([{ name: "one", got: "true" }]);
    const checks = [{ type: "NonEmpty" }];
    const refused = write("readiness.json", [{ ...READY, readinessChecks: checks, output: true }]);
    expect((await runFolder(refused, rules)).failures).toMatchObject([
      { expected: "true", got: expect.stringMatching(/InvalidCheck/) },
    ]);
  });

  test("where an error is expected and our code crashes", async () => {
    const crashing = write("readiness.json", [{ ...READY, resource: null, readinessChecks: [], error: "any" }]);
    expect((await runFolder(crashing, rules)).failures).toMatchObject([{ got: expect.stringMatching(/^a crash/) }]);
  });

  test("where a rule expects something else", async () => {
    const rule = { name: "r", file: "readiness", reason: "", applies: () => true, outcome: () => ({ output: false }) };
    const report = await runFolder(write("readiness.json", [{ ...READY, output: true }]), [rule]);
    expect(report.failures).toMatchObject([{ rule: "r", expected: "false", got: "true" }]);
  });
});

test("the effects of an image, its accounts and the limits are compared field by field", async () => {
  const cases = readVectorFile(join(VECTORS, "image-spec.json.gz"));
  const source = cases.find(({ name }) => name === "network-002");
  const output = structuredClone(source?.["output"]) as {
    hostname: string;
    process: {
      args: string[];
      env: string[];
      cwd: string;
      user: { uid: number; gid: number; additionalGids: number[] };
    };
    linux: { resources: { memory: { limit: number }; cpu: { quota: number } } };
  };
  const changes: [string, (spec: typeof output) => void][] = [
    ["hostname", (spec) => (spec.hostname = "other")],
    ["process.args[0]", (spec) => (spec.process.args[0] = "/other")],
    ["process.env[1]", (spec) => (spec.process.env[1] = "A=c")],
    ["process.cwd", (spec) => (spec.process.cwd = "/")],
    ["process.user.uid", (spec) => (spec.process.user.uid = 1)],
    ["process.user.gid", (spec) => (spec.process.user.gid = 1)],
    ["process.user.additionalGids[0]", (spec) => (spec.process.user.additionalGids[0] = 1)],
    ["resources.memory.limit", (spec) => (spec.linux.resources.memory.limit = 1)],
    ["resources.cpu.quota", (spec) => (spec.linux.resources.cpu.quota = 1)],
  ];
  for (const [at, change] of changes) {
    const wrong = structuredClone(output);
    change(wrong);
    const report = await runFolder(write("image-spec.json", [{ ...source, output: wrong }]), rules);
    expect(report.failures).toMatchObject([{ at }]);
  }
  expect((await runFolder(write("image-spec.json", [{ ...source }]), rules)).passed).toBe(1);
});

test("files can be compressed, and a file of an unknown kind is reported", async () => {
  const report = await runFolder(write("readiness.json.zst", [{ ...READY, output: true }]), rules);
  expect([report.passed, report.unknown]).toEqual([1, []]);
  expect((await runFolder(write("other.json", []), rules)).unknown).toEqual(["other.json"]);
});

test("numbers keep their type and all digits", () => {
  const numbers = parseLossless("[1, 1.0, 1e3, 9007199254740993, 0.5, -0]");
  expect(numbers).toEqual([1, float64(1), float64(1000), 9007199254740993n, 0.5, 0]);
  const typed = [
    { t: "int64", v: "9223372036854775807" },
    { t: "float64", v: "3" },
    { t: "float64", v: "NaN" },
    { t: "string", b64: "/+8=" },
  ];
  for (const one of typed) expect(toTyped(fromTyped(one))).toEqual(one);
  const bytes = Buffer.from([0x61, 0xff, 0xc3, 0xa9, 0xe2, 0x82]);
  expect(bytesToText(bytes)).toBe("a\udcffé\udce2\udc82");
  expect(textToBytes(bytesToText(bytes))).toEqual(bytes);
});

test("docs/conformance.md lists the rules with their reasons", () => {
  const page = readFileSync(join(CHECKOUT, "docs/conformance.md"), "utf8");
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \| `([a-z-]+)` \| (.+) \|$/gm)];
  expect(rows.map(([, name, file, reason]) => ({ name, file, reason }))).toEqual(
    rules.map(({ name, file, reason }) => ({ name, file, reason })),
  );
});

function plain(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
