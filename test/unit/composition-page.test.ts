import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  checkComposition,
  compileTemplates,
  compileTransforms,
  documentOf,
  extractConnectionDetails,
  isReady,
  type Patch,
  parseComposition,
  selectEnvironment,
  type Transform,
} from "@xfn/composition";
import type { ConnectionDetail, ReadinessCheck } from "@xfn/functionio";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { describe, expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";

// Runs every example of docs/reference/composition.md and steps.md.
//
// The word after `yaml` is the type of a block. All examples share `xr`, `base` and `observed`. The next `patches` use
// `patchSets`, `environment` and `environment-configs`. A `result`, `xr-result` or `error` is the result of the
// `patches` above it. The table below `transforms` lists inputs and outputs.

interface Block {
  word: string;
  text: string;
  line: number;
}

/** A row of a table below a `transforms` block. */
interface Row {
  transforms: Transform[];
  input: string;
  output: string;
  line: number;
}

const pageOf = (name: string): string => readFileSync(join(CHECKOUT, "docs/reference", name), "utf8");
const PAGE = pageOf("composition.md") + pageOf("steps.md");

function blocksOf(page: string): { blocks: Block[]; rows: Row[] } {
  const blocks: Block[] = [];
  const rows: Row[] = [];
  let open: Block | undefined;
  let transforms: Transform[] | undefined;
  for (const [index, line] of page.split("\n").entries()) {
    const fence = /^```(?:yaml )?([\w-]*)$/.exec(line);
    if (fence !== null && open === undefined) open = { word: fence[1] ?? "", text: "", line: index + 1 };
    else if (line === "```" && open !== undefined) {
      blocks.push(open);
      transforms = open.word === "transforms" ? (yaml(open.text) as unknown as Transform[]) : undefined;
      open = undefined;
    } else if (open !== undefined) open.text += `${line}\n`;
    else if (line.startsWith("#")) transforms = undefined;
    else if (transforms !== undefined) {
      const row = /^\| `(.*)` \| (?:`(.*)`|(error)) \|$/.exec(line.replaceAll("\\|", "\u{1F}"));
      if (row !== null) {
        const [, input = "", output, error = ""] = row.map((cell) => cell?.replaceAll("\u{1F}", "|"));
        rows.push({ transforms, input, output: output ?? error, line: index + 1 });
      }
    }
  }
  return { blocks, rows };
}

function yaml(text: string): JsonValue {
  return readDocuments(text)[0]?.value ?? null;
}

const { blocks, rows } = blocksOf(PAGE);

function only(word: string): JsonObject {
  const found = blocks.filter((block) => block.word === word);
  expect(found, word).toHaveLength(1);
  return yaml(found[0]?.text ?? "") as JsonObject;
}

const LABELED = only("xr");
const XR = {
  ...LABELED,
  metadata: {
    ...(LABELED["metadata"] as JsonObject),
    labels: { ...((LABELED["metadata"] as JsonObject)["labels"] as JsonObject), "crossplane.io/composite": "orders" },
  },
} as KubernetesObject;
const BASE = only("base");
const OBSERVED = only("observed") as KubernetesObject;

/** Compares whole fields of `spec`, `status`, `metadata.labels` and `metadata.annotations`. */
function withResult(before: JsonObject, result: JsonObject, depth = 0): JsonObject {
  const after: JsonObject = { ...before };
  for (const [key, value] of Object.entries(result)) {
    const inside = depth === 0 || ["labels", "annotations"].includes(key);
    after[key] = isObject(value) && inside ? withResult((before[key] ?? {}) as JsonObject, value, depth + 1) : value;
  }
  return after;
}

/** An object without the identity of a composed resource, which the examples omit. */
function plain(object: JsonObject): JsonObject {
  const { metadata: all, ...rest } = object;
  const metadata: JsonObject = {};
  for (const field of ["labels", "annotations"]) {
    const map = isObject(all) ? all[field] : undefined;
    const kept = Object.entries(isObject(map) ? map : {}).filter(([key]) => !key.startsWith("crossplane.io/"));
    if (kept.length > 0) metadata[field] = Object.fromEntries(kept);
  }
  return JSON.parse(JSON.stringify({ ...rest, metadata })) as JsonObject;
}

interface Example {
  line: number;
  word: string;
  patches: Patch[];
  expected: string;
  context: { patchSets?: JsonValue; environment?: JsonValue; configs: KubernetesObject[] };
}

function examples(): Example[] {
  const found: Example[] = [];
  let context: Example["context"] = { configs: [] };
  let patches: Block | undefined;
  for (const block of blocks) {
    if (block.word === "patchSets") context = { ...context, patchSets: yaml(block.text) };
    if (block.word === "environment") context = { ...context, environment: yaml(block.text) };
    if (block.word === "environment-configs") {
      context = { ...context, configs: readDocuments(block.text).map(({ value }) => value as KubernetesObject) };
    }
    if (block.word === "patches") patches = block;
    if (!["result", "xr-result", "error"].includes(block.word)) continue;
    expect(patches, `line ${block.line}`).toBeDefined();
    found.push({
      line: patches?.line ?? 0,
      word: block.word,
      patches: yaml(patches?.text ?? "") as unknown as Patch[],
      expected: block.text,
      context,
    });
    context = { configs: [] };
    patches = undefined;
  }
  return found;
}

describe("patches", () => {
  test.each(examples().map((example) => [example.line, example] as const))("line %i", (_, example) => {
    const { context, patches, word, expected } = example;
    const spec = {
      compositeTypeRef: { apiVersion: XR.apiVersion ?? "", kind: XR.kind ?? "" },
      resources: [{ name: "server", base: BASE, patches }],
      ...(context.patchSets !== undefined && { patchSets: context.patchSets }),
      ...(context.environment !== undefined && { environment: context.environment }),
    };
    const composition = parseComposition(
      documentOf({
        apiVersion: "apiextensions.crossplane.io/v1",
        kind: "Composition",
        metadata: { name: "page" },
        spec: spec as unknown as JsonObject,
      }),
      { onWarning: (finding) => expect.unreachable(JSON.stringify(finding)) },
    );
    const environment = selectEnvironment(composition, XR, context.configs);
    const rendered = compileTemplates(composition.spec).render({
      composite: XR,
      observed: word === "xr-result" ? new Map([["server", OBSERVED]]) : new Map(),
      ...(environment !== undefined && { environment }),
    });
    const [server] = rendered.resources;
    if (word === "error") {
      expect(server?.error?.message).toContain(expected.trim());
      return;
    }
    expect(server?.error).toBeUndefined();
    const result = yaml(expected) as JsonObject;
    if (word === "result") expect(plain(server?.resource ?? {})).toEqual(plain(withResult(BASE, result)));
    else expect(plain(rendered.composite)).toEqual(plain(withResult(XR, result)));
  });
});

describe("transforms", () => {
  test.each(rows.map((row) => [row.line, row] as const))("line %i", (_, { transforms, input, output }) => {
    const run = compileTransforms(transforms);
    if (output === "error") expect(() => run(yaml(input))).toThrow();
    else expect(JSON.parse(JSON.stringify(run(yaml(input))))).toEqual(JSON.parse(JSON.stringify(yaml(output))));
  });

  test("each block has a table, and every row is tested", () => {
    expect(new Set(rows.map((row) => row.transforms)).size).toBe(
      blocks.filter((block) => block.word === "transforms").length,
    );
    const chapter = PAGE.slice(PAGE.indexOf("\n## Transforms"), PAGE.indexOf("\n## Readiness"));
    expect(rows).toHaveLength(chapter.match(/^\| `.*` \| (`.*`|error) \|$/gm)?.length ?? 0);
  });
});

test("the Composition at the top is accepted without a warning", () => {
  const [document] = readDocuments(blocks.find((block) => block.word === "composition")?.text ?? "");
  expect(document && checkComposition(document)).toMatchObject({ findings: [], composition: { kind: "Composition" } });
});

test("readiness checks pass and fail as documented", () => {
  const checks = (word: string): ReadinessCheck[][] =>
    blocks.filter((block) => block.word === word).map((block) => yaml(block.text) as ReadinessCheck[]);
  const ready = checks("readiness-ready").map((check) => isReady(OBSERVED, check));
  const unready = checks("readiness-unready").map((check) => isReady(OBSERVED, check));
  expect({ ready, unready }).toEqual({ ready: [true], unready: [false, false] });
});

test("connection details are as documented", () => {
  const details = yaml(blocks.find((block) => block.word === "connection-details")?.text ?? "") as ConnectionDetail[];
  const secret = new Map([["password", "hunter2"]]);
  const extracted = extractConnectionDetails({ details, resource: OBSERVED, secret });
  expect(new Map(extracted)).toEqual(
    new Map([
      ["host", "10.0.0.7"],
      ["password", "hunter2"],
      ["port", "5432"],
      ["scheme", "postgres"],
    ]),
  );
});

test("the steps are accepted without a warning", () => {
  const spec = {
    compositeTypeRef: { apiVersion: "example.org/v1", kind: "XDatabase" },
    mode: "Pipeline",
    pipeline: blocks
      .filter(({ word }) => word === "step")
      .map(({ text }, index) => ({ ...(yaml(text) as JsonObject), step: `step-${index}` })),
  };
  const head = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", metadata: { name: "page" } };
  const { findings, composition } = checkComposition(documentOf({ ...head, spec }));
  expect(findings).toEqual([]);
  expect(composition?.spec.pipeline).toMatchObject([
    { webhook: { url: "https://sizes.functions.svc:8443/v1" } },
    { type: "Wasm", container: { timeoutMs: 5000, resources: { limits: { memoryBytes: 64 * 1024 * 1024 } } } },
    { io: "KRM", config: { kind: "ConfigMap" }, container: { image: "registry.example.org/set-labels:v1" } },
    { cache: { ttlMs: 600_000 } },
    { when: "observed.composite.resource.spec.size > 3", timeoutMs: 30_000, retries: 3, schema: "Strict" },
  ]);
});

test("this test reads every block of the page", () => {
  const known = ["composition", "xr", "base", "observed", "patches", "result", "xr-result", "error", "patchSets"];
  known.push("environment", "environment-configs", "transforms", "connection-details");
  known.push("readiness-ready", "readiness-unready", "step");
  expect(blocks.filter((block) => !known.includes(block.word))).toEqual([]);
});
