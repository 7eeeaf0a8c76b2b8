import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import { merge } from "../render/merge.ts";
import { entryName } from "./entry-name.ts";
import { type Prepared, prepare, type TestInput } from "./prepare.ts";
import { renderRound } from "./render.ts";
import { Rendering } from "./rendering.ts";
import { plain } from "./source.ts";
import { TestingError } from "./testing-error.ts";

/** How a simulated cluster reacts to composed resources. */
export interface ConvergeOptions {
  /**
   * The status that a resource's controller writes after the apply, by entry name; undefined for none. Other fields of
   * an observed resource in the test's input stay.
   */
  readonly status?: (name: string, resource: KubernetesObject, round: number) => object | undefined;
  /** The maximum number of rounds until nothing changes. Default 5. */
  readonly rounds?: number;
}

const DEFAULT_ROUNDS = 5;

/**
 * Renders repeatedly until nothing changes, as a cluster would. Each round observes the resources and the XR of the
 * round before. `rounds` of the result is the number of rounds; 1 if the first was final. A fatal result ends the
 * rounds and is returned.
 *
 * @throws {TestingError} `NotStable` if the output keeps changing, or if a round forgets a resource of the round
 *   before. Also throws the errors of `render`.
 */
export async function converge(input: TestInput, options: ConvergeOptions = {}): Promise<Rendering> {
  if (input.recording !== undefined)
    throw new TestingError("InvalidInput", "a recording is of one run, and converge makes several; use render");
  const prepared = prepare(input);
  try {
    return await rounds(prepared, options);
  } finally {
    await prepared.close();
  }
}

async function rounds(prepared: Prepared, options: ConvergeOptions): Promise<Rendering> {
  const limit = options.rounds ?? DEFAULT_ROUNDS;
  const given = byEntry(prepared.observed);
  let composite: JsonValue = prepared.composite;
  let observed = given;
  let before: Rendering | undefined;
  for (let round = 1; ; round++) {
    const { result, facts } = await renderRound(prepared, { composite, observed: [...observed.values()] });
    const now = new Rendering(result, { ...facts, rounds: round });
    if (now.fatal !== undefined) return now;
    if (before !== undefined) {
      checkKept(before, now);
      const changed = changes(before, now);
      if (changed.length === 0) return new Rendering(result, { ...facts, rounds: round - 1 });
      if (round > limit) {
        throw new TestingError("NotStable", `round ${round} still changed ${changed.join(", ")}`);
      }
    }
    composite = now.fullComposite;
    observed = applied(given, observed, now, (name, resource) => options.status?.(name, resource, round));
    before = now;
  }
}

/** Existing objects, by entry name. */
type Existing = ReadonlyMap<string, JsonObject>;

function byEntry(observed: readonly JsonValue[]): Existing {
  return new Map(observed.filter(isObject).map((object) => [entryName(object) ?? "", object]));
}

/**
 * The objects after an apply: the test's own fields, overlaid with the composed ones. Fields of earlier rounds are
 * removed.
 */
function applied(
  given: Existing,
  before: Existing,
  now: Rendering,
  statusOf: (name: string, resource: KubernetesObject) => object | undefined,
): Existing {
  const after = new Map(before);
  for (const name of now.deleted) after.delete(name);
  for (const [index, name] of now.names.entries()) {
    const resource = now.resources[index] ?? {};
    const named: KubernetesObject = { ...resource, metadata: { ...resource.metadata, name: nameOf(resource, name) } };
    const object = merge(given.get(name) ?? {}, named);
    const status = statusOf(name, object);
    after.set(name, status === undefined ? object : { ...object, status: plain(status, `the status of ${name}`) });
  }
  return after;
}

/** The name that the API server would generate from `generateName`, but deterministic. */
function nameOf({ metadata }: KubernetesObject, entry: string): string {
  return metadata?.name ?? `${metadata?.generateName ?? ""}${entry}`;
}

/** Fails if a round forgets a resource, as a function does that creates a resource only if it does not exist. */
function checkKept(before: Rendering, now: Rendering): void {
  const forgotten = before.names.filter((name) => now.resource(name) === undefined && !now.deleted.includes(name));
  if (forgotten.length === 0) return;
  throw new TestingError(
    "NotStable",
    `round ${now.rounds} no longer desires ${forgotten.join(", ")}, which exists since round ${before.rounds}; a resource ` +
      `must be desired in every run, and deleted with desired.delete or desired.prune`,
  );
}

/** The names of the entries that differ. Ignores repeated deletions and results. */
function changes(before: Rendering, now: Rendering): string[] {
  const names = [...new Set([...before.names, ...now.names])].toSorted();
  const changed = names.filter((name) => !isSame(before.resource(name), now.resource(name)));
  if (!isSame(before.fullComposite, now.fullComposite)) changed.push("the composite resource");
  return changed;
}

function isSame(a: KubernetesObject | undefined, b: KubernetesObject | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return isDeepStrictEqual(plain(a, "a resource"), plain(b, "a resource"));
}
