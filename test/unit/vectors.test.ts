import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { float64 } from "@xfn/composition";
import { describe, expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { MUTATIONS, mutatedCases, readCases } from "../vectors/mutate/mutate.ts";
import { printLossless } from "../vectors/mutate/mutation.ts";
import { rules } from "../vectors/rules.ts";
import { runCases, runFolder } from "../vectors/run.ts";
import { bytesToText, fromTyped, textToBytes, toTyped } from "../vectors/typed-value.ts";
import { parseLossless, readVectorFile, type VectorCase } from "../vectors/vector-file.ts";

const VECTORS = join(CHECKOUT, "test/vectors");
const folder = temporaryFolder();

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

describe("cases that mutations derive", () => {
  const files = readCases(VECTORS);

  test("have the outcome of the reference or of a rule", async () => {
    const { report, failed } = await runCases(mutatedCases(files, { count: 1000, seed: 1 }), rules);
    expect(report.failures).toEqual([]);
    expect(failed).toEqual([]);
    expect(report.passed).toBe(1000);
  });

  test.each(MUTATIONS)("include $name", (mutation) => {
    expect([...mutatedCases(files, { count: 1, seed: 1, mutations: [mutation] })]).toHaveLength(1);
  });

  test("fail if a mutation changes the outcome", async () => {
    const wrong = {
      name: "wrong",
      files: ["fieldpath", "readiness"],
      apply: (vector: VectorCase) => (vector["output"] === undefined ? undefined : { ...vector, output: "wrong" }),
    };
    const { report, failed } = await runCases(mutatedCases(files, { count: 50, seed: 1, mutations: [wrong] }), []);
    expect(report).toMatchObject({ passed: 0, failures: { length: 50 } });
    expect(failed.length).toBe(50);
  });

  test("are the same for the same seed", () => {
    const cases = (seed: number): string => printLossless([...mutatedCases(files, { count: 20, seed })]);
    expect(cases(7)).toBe(cases(7));
    expect(cases(7)).not.toBe(cases(8));
  });

  test("keep the Go types of numbers when they are written", () => {
    const text = '[1,1.0,1e+21,9007199254740993,0.5,{"a":[null,true,"x"]}]';
    expect(printLossless(parseLossless(text))).toBe(text);
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

test("a relative working directory is one below the root directory", async () => {
  const cases = readVectorFile(join(VECTORS, "image-spec.json.gz"));
  const source = structuredClone(cases.find(({ name }) => name === "network-002")) as unknown as {
    imageConfig: { config: { WorkingDir: string } };
    output: { process: { cwd: string } };
  };
  source.imageConfig.config.WorkingDir = "some/where";
  source.output.process.cwd = "some/where";
  expect(await runFolder(write("image-spec.json", [source]), rules)).toMatchObject({ passed: 1, failures: [] });
});

test("errors of a Composition may be recorded with their field, or as the field alone", async () => {
  const convert = { type: "convert", convert: { toType: "object", format: "json" } };
  const patch = {
    type: "FromCompositeFieldPath",
    fromFieldPath: "spec.text",
    toFieldPath: "spec.data",
    transforms: [convert],
  };
  const resources = [{ name: "a", base: { apiVersion: "v1", kind: "A" }, patches: [patch] }];
  const field = "spec.resources[0].patches[0].transforms[0].convert.toType";
  for (const error of [field, { field, type: "FieldValueInvalid" }]) {
    const vector = {
      name: "json",
      group: "validation",
      validate: { resources },
      output: { errors: [error], valid: false },
    };
    expect(await runFolder(write("functionio-merge.json", [vector]), rules)).toMatchObject({ passed: 1, failures: [] });
  }
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

test("docs/concepts/differences-from-crossplane.md lists the reasons of the rules, and no others", () => {
  const page = readFileSync(join(CHECKOUT, "docs/concepts/differences-from-crossplane.md"), "utf8");
  const [, list = ""] = /with this reason:\n\n(.*?)\n\n/s.exec(page) ?? [];
  expect(list.split("\n")).toEqual([...new Set(rules.map(({ reason }) => `- ${reason}`))]);
});

function plain(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
