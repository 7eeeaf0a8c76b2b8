import { printJson } from "@xfn/json/text";
import { startApiServer } from "../../harness/api-server.ts";
import { cases } from "./cases.ts";
import { Comparison, type Disagreement } from "./compare.ts";
import { DIFFERENCES, explain } from "./differences.ts";
import { Server } from "./server.ts";

/** The rules of one CRD. The server checks a CRD as a whole, and must answer in half a minute. */
const BATCH = 80;

/** The result of a comparison. */
export interface CelResult {
  readonly counts: Comparison["counts"];
  /** Disagreements without a declared difference. */
  readonly unexplained: readonly Disagreement[];
  /** The reasons of declared differences that no case showed. */
  readonly obsolete: readonly string[];
}

/** Compares generated rules with the API server of `xfn dev cluster`. */
export async function compareCel(options: {
  readonly rules: number;
  readonly seed: number;
  readonly onBatch?: (done: number) => void;
}): Promise<CelResult> {
  await using api = await startApiServer();
  const server = new Server(api);
  const comparison = new Comparison(server);
  const all = [...DIFFERENCES.map(({ example }) => example), ...cases(options.seed, options.rules)];
  try {
    for (let at = 0; at < all.length; at += BATCH) {
      await comparison.run(all.slice(at, at + BATCH));
      options.onBatch?.(Math.min(at + BATCH, all.length));
    }
  } finally {
    server.close();
  }
  const { unexplained, obsolete } = explain(comparison.disagreements);
  return { counts: comparison.counts, unexplained, obsolete: obsolete.map(({ reason }) => reason) };
}

/** Describes a disagreement with everything that repeats it. */
export function describeDisagreement({ kind, rule, schema, value, ours, theirs }: Disagreement): string {
  const { properties: _, ...shown } = schema;
  return [
    `${kind}: ${rule}`,
    `  schema: ${printJson(shown)}`,
    ...(value === undefined ? [] : [`  value: ${printJson(value)}`]),
    `  ours: ${ours}`,
    `  server: ${theirs}`,
  ].join("\n");
}
