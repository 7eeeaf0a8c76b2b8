import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Adapter, isTypedError } from "./adapter.ts";
import type { Rule } from "./rule.ts";
import { firstDifference, same, show } from "./same.ts";
import {
  type Expected,
  isVectorFile,
  readVectorFile,
  recorded,
  type VectorCase,
  vectorFileKind,
} from "./vector-file.ts";

/** The adapters, by kind of file. */
const ADAPTERS: Readonly<Record<string, () => Promise<Adapter>>> = {
  "connection-details": async () => (await import("./adapters/connection-details.ts")).connectionDetails,
  fieldpath: async () => (await import("./adapters/field-path.ts")).fieldPath,
  "functionio-merge": async () => (await import("./adapters/functionio-merge.ts")).functionioMerge,
  "image-spec": async () => (await import("./adapters/image-spec.ts")).imageSpec,
  patches: async () => (await import("./adapters/patches.ts")).patches,
  readiness: async () => (await import("./adapters/readiness.ts")).readiness,
  transforms: async () => (await import("./adapters/transforms.ts")).transforms,
  "xrd-crd": async () => (await import("./adapters/definitions.ts")).definitions,
};

/** Selects cases to run. By default all run. */
export interface Selection {
  name?: string | undefined;
  group?: string | undefined;
}

/** A case with another outcome than expected. */
export interface Failure {
  file: string;
  group: string;
  name: string;
  /** The rule of the expected outcome. Absent for the reference. */
  rule?: string;
  /** The field path of the first difference. */
  at?: string;
  expected: string;
  got: string;
}

/** The result of a folder of vectors. */
export interface Report {
  passed: number;
  failures: Failure[];
  /** The number of skipped cases, by file and reason. */
  skipped: Map<string, number>;
  /** Files of unknown kinds. */
  unknown: string[];
  /** The number of cases of each rule. */
  rules: Map<string, number>;
}

/** Runs every vector of a folder. */
export async function runFolder(folder: string, rules: readonly Rule[], selection: Selection = {}): Promise<Report> {
  const report = emptyReport(rules);
  for (const name of readdirSync(folder).toSorted()) {
    if (!isVectorFile(name)) continue;
    const kind = vectorFileKind(name);
    const adapter = await adapterOf(kind);
    if (adapter === undefined) {
      report.unknown.push(name);
      continue;
    }
    const cases = readVectorFile(join(folder, name)).filter(
      (vector) =>
        (selection.name === undefined || vector.name === selection.name) &&
        (selection.group === undefined || vector.group === selection.group),
    );
    for (const vector of cases) await runCase(kind, vector, adapter, rules, report);
  }
  return report;
}

/** Runs cases that were derived from vectors. Returns the report, and the cases that failed. */
export async function runCases(
  cases: Iterable<{ file: string; vector: VectorCase }>,
  rules: readonly Rule[],
): Promise<{ report: Report; failed: { file: string; vector: VectorCase }[] }> {
  const report = emptyReport(rules);
  const failed: { file: string; vector: VectorCase }[] = [];
  for (const one of cases) {
    const adapter = await adapterOf(one.file);
    if (adapter === undefined) throw new TypeError(`${one.file}: is not a kind of file that is known here`);
    const before = report.failures.length;
    await runCase(one.file, one.vector, adapter, rules, report);
    if (report.failures.length > before) failed.push(one);
  }
  return { report, failed };
}

function emptyReport(rules: readonly Rule[]): Report {
  return {
    passed: 0,
    failures: [],
    skipped: new Map(),
    unknown: [],
    rules: new Map(rules.map(({ name }) => [name, 0])),
  };
}

async function adapterOf(kind: string): Promise<Adapter | undefined> {
  return Object.hasOwn(ADAPTERS, kind) ? await ADAPTERS[kind]?.() : undefined;
}

async function runCase(
  file: string,
  vector: VectorCase,
  adapter: Adapter,
  rules: readonly Rule[],
  report: Report,
): Promise<void> {
  const why = adapter.skip?.(vector);
  if (why !== undefined) {
    const key = `${file}: ${why}`;
    report.skipped.set(key, (report.skipped.get(key) ?? 0) + 1);
    return;
  }
  const normalize = (outcome: Expected): Expected =>
    "output" in outcome ? { output: adapter.normalize?.(outcome.output, vector) ?? outcome.output } : outcome;
  const reference = adapter.expected?.(vector) ?? recorded(vector);
  const applying = rules.filter((one) => one.file === file && one.applies(vector));
  // Several rules may apply to one case. Each changes the result of those before it.
  const expected = normalize(applying.reduce((outcome, rule) => rule.outcome(vector, outcome), reference));
  for (const { name } of applying) report.rules.set(name, (report.rules.get(name) ?? 0) + 1);
  const mismatch = await check(adapter, vector, expected);
  if (mismatch === undefined) report.passed++;
  else {
    const { group, name } = vector;
    report.failures.push({
      file,
      group,
      name,
      ...(applying.length > 0 && { rule: applying.map((rule) => rule.name).join(", ") }),
      ...mismatch,
    });
  }
}

type Mismatch = Pick<Failure, "at" | "expected" | "got">;

async function check(adapter: Adapter, vector: VectorCase, expected: Expected): Promise<Mismatch | undefined> {
  let output: unknown;
  try {
    output = await adapter.run(vector);
  } catch (thrown) {
    return checkThrown(adapter, vector, expected, thrown);
  }
  output = adapter.normalize?.(output, vector) ?? output;
  if ("error" in expected) return { expected: `an error: ${expected.error}`, got: show(output) };
  if (same(expected.output, output)) return undefined;
  const { path, a, b } = firstDifference(expected.output, output);
  return { ...(path !== "" && { at: path }), expected: show(a), got: show(b) };
}

function checkThrown(adapter: Adapter, vector: VectorCase, expected: Expected, thrown: unknown): Mismatch | undefined {
  if (!isTypedError(thrown)) {
    const got =
      thrown instanceof Error ? (thrown.stack ?? String(thrown)).split("\n").slice(0, 3).join(" ") : String(thrown);
    return { expected: "error" in expected ? "an error with a code" : show(expected.output), got: `a crash: ${got}` };
  }
  const got = `an error: ${thrown.code}: ${thrown.message}`;
  if (!("error" in expected)) return { expected: show(expected.output), got };
  const complaint = adapter.checkError?.(thrown, vector);
  return complaint === undefined ? undefined : { expected: expected.error, got: `${got} (${complaint})` };
}
