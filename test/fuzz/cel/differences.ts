import type { JsonObject, JsonValue } from "@xfn/json";
import type { Case } from "./cases.ts";
import type { Disagreement } from "./compare.ts";

/** A difference from the API server that we know and accept. */
export interface Difference {
  readonly reason: string;
  /** A case that shows it. Every run has it, so that a difference that no longer exists fails. */
  readonly example: Case;
  covers(disagreement: Disagreement): boolean;
}

function example(rule: string, more: JsonObject = {}, value: JsonValue = "a"): Case {
  const schema = { type: "string", maxLength: 10, "x-kubernetes-validations": [{ rule, ...more }] };
  return { schema, rule, values: [value] };
}

/** All differences. */
export const DIFFERENCES: readonly Difference[] = [
  {
    reason: "Literals of protobuf messages are refused: no rule of a CRD can use them beyond wrappers of scalars.",
    example: example("google.protobuf.Int64Value{value: 1} == 1"),
    covers: ({ kind, rule }) => kind === "refuses" && /google\.protobuf\.\w+\{/.test(rule),
  },
  {
    reason: "Unsigned keys of maps are kept as signed ones, which are equal to them.",
    example: example("{1u: 'a'}.all(k, type(k) == uint)"),
    covers: ({ kind, rule }) => kind === "issues" && rule.includes("type(k) == uint"),
  },
  {
    reason: "The problems of named formats have sentences of our own.",
    example: example("self == ''", { messageExpression: "format.dns1123Label().validate('A').value()[0]" }),
    covers: ({ kind, schema }) => kind === "issues" && JSON.stringify(schema).includes(".validate('A').value()[0]"),
  },
];

/** The disagreements that no difference explains, and the differences that no disagreement shows. */
export function explain(disagreements: readonly Disagreement[]): {
  readonly unexplained: readonly Disagreement[];
  readonly obsolete: readonly Difference[];
} {
  return {
    unexplained: disagreements.filter((one) => !DIFFERENCES.some((difference) => difference.covers(one))),
    obsolete: DIFFERENCES.filter((difference) => !disagreements.some((one) => difference.covers(one))),
  };
}
