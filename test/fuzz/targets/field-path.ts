import assert from "node:assert/strict";
import {
  deleteFieldPath,
  expandWildcards,
  type FieldPath,
  findFieldPath,
  formatFieldPath,
  type GoValue,
  getFieldPath,
  MAX_INDEX,
  mergeFieldPath,
  parseFieldPath,
  setFieldPath,
} from "@xfn/composition";
import type { JsonObject } from "@xfn/json";
import fc, { type Arbitrary } from "fast-check";
import { copy, key, object, text, value } from "../generators.ts";
import { mutatedText } from "../mutate.ts";
import { type Target, target } from "../target.ts";

const CORPUS = [
  "spec.parameters.size",
  "metadata.annotations[example.org/name]",
  "metadata.labels['a.b/c']",
  "spec.items[0].ports[12].name",
  "spec.items[*].tags[*]",
  'a["b"].c',
  "spec[*]",
  "a[1024]",
  "a[4294967296]",
];

const index: Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.constantFrom(MAX_INDEX - 1, MAX_INDEX, MAX_INDEX + 1, 2 ** 32 - 1) },
);

/** A path by the grammar with any keys, which may be invalid. */
const written: Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: key.map((one) => `.${one}`) },
      { weight: 2, arbitrary: index.map((one) => `[${one}]`) },
      { weight: 1, arbitrary: key.map((one) => `['${one}']`) },
      { weight: 1, arbitrary: fc.constant("[*]") },
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join("").replace(/^\./, ""));

const path: Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: written },
  { weight: 2, arbitrary: mutatedText(CORPUS) },
  { weight: 1, arbitrary: text },
);

/** Parses and prints paths. Apart from quotes and brackets, the printed path must parse to the same path. */
export const fieldPathText: Target = target({
  input: path,
  run: (input) => {
    const read = parseFieldPath(input);
    const printed = formatFieldPath(read);
    assert.ok(read.every((segment) => typeof segment === "string" || segment <= 2 ** 32 - 1));
    if (read.every((segment) => typeof segment === "number" || /^[a-z]+$/i.test(segment))) {
      assert.deepEqual(parseFieldPath(printed), read);
    }
  },
});

interface Use {
  root: JsonObject;
  path: string;
  value: GoValue;
  operation: "get" | "set" | "delete" | "expand" | "merge";
  mergeOptions: { keepMapValues?: boolean; appendSlice?: boolean } | undefined;
}

/** Runs all operations that follow a path through an object. */
export const fieldPathUse: Target = target<Use>({
  input: fc.record({
    root: object,
    path,
    value,
    operation: fc.constantFrom("get", "set", "delete", "expand", "merge"),
    mergeOptions: fc.option(
      fc.record({ keepMapValues: fc.boolean(), appendSlice: fc.boolean() }, { requiredKeys: [] }),
      { nil: undefined },
    ),
  }),
  run: (input) => {
    try {
      use(input);
    } finally {
      assertClean();
    }
  },
});

function use(input: Use): void {
  const segments = parseFieldPath(input.path);
  if (input.operation === "get") {
    const found = findFieldPath(input.root, segments);
    if (found !== undefined) assert.deepEqual(getFieldPath(input.root, segments), found);
    return;
  }
  if (input.operation === "expand") {
    for (const expanded of expandWildcards(input.root, segments)) getFieldPath(input.root, expanded);
    return;
  }
  const root = copy(input.root);
  if (input.operation === "set") {
    setFieldPath(root, segments, copy(input.value));
    assertThere(root, segments);
  } else if (input.operation === "merge") {
    mergeFieldPath(root, segments, copy(input.value), input.mergeOptions);
    assertThere(root, segments);
  } else {
    deleteFieldPath(root, segments);
    const last = segments.at(-1);
    if (typeof last === "string") assert.equal(findQuietly(root, segments), undefined);
  }
}

function assertThere(root: JsonObject, segments: FieldPath): void {
  if (segments.length > 0) assert.notEqual(findFieldPath(root, segments), undefined);
}

function findQuietly(root: JsonObject, segments: FieldPath): unknown {
  try {
    return findFieldPath(root, segments);
  } catch {
    return undefined;
  }
}

const OBJECT = Object.getOwnPropertyNames(Object.prototype).join();
const ARRAY = Object.getOwnPropertyNames(Array.prototype).join();

/** Asserts that no key changed Object.prototype. */
export function assertClean(): void {
  assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), OBJECT);
  assert.equal(Object.getOwnPropertyNames(Array.prototype).join(), ARRAY);
}
