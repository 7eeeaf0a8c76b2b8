import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/functionio";
import { entryName } from "./entry-name.ts";
import { prepare, type TestInput } from "./prepare.ts";
import { renderRound } from "./render.ts";
import { Rendering } from "./rendering.ts";
import { plain } from "./source.ts";
import { TestingError } from "./testing-error.ts";

/** How the world answers to what is composed. */
export interface ConvergeOptions {
  /**
   * The status that a resource's controller writes once it has been applied, by entry name; none if absent. What an observed
   * resource of the test's input has besides stays.
   */
  readonly status?: (name: string, resource: KubernetesObject, round: number) => object | undefined;
  /** How many rounds it may take until nothing changes. Default 5. */
  readonly rounds?: number;
}

const DEFAULT_ROUNDS = 5;

/**
 * Renders again and again, each time with what was composed as what is observed, and the XR as it would be, until nothing
 * changes: what a cluster comes to. `rounds` of what is returned tells how many it took, 1 if the first was final. A fatal
 * result ends it, and is returned.
 *
 * @throws {TestingError} `NotStable`, when it goes on changing, or when a resource is desired in one round and forgotten in
 * the next; and all that `render` throws
 */
export async function converge(input: TestInput, options: ConvergeOptions = {}): Promise<Rendering> {
  const prepared = prepare(input);
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

/** What exists, by entry name. */
type Existing = ReadonlyMap<string, JsonObject>;

function byEntry(observed: readonly JsonValue[]): Existing {
  return new Map(observed.filter(isObject).map((object) => [entryName(object) ?? "", object]));
}

/** What exists after an apply: what the test gave of a resource, and over it what is composed now; fields of earlier rounds go. */
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
    const object = overlay(given.get(name) ?? {}, named);
    const status = statusOf(name, object);
    after.set(name, status === undefined ? object : { ...object, status: plain(status, `the status of ${name}`) });
  }
  return after;
}

/** What the API server makes of `generateName`, but always the same. */
function nameOf({ metadata }: KubernetesObject, entry: string): string {
  return metadata?.name ?? `${metadata?.generateName ?? ""}${entry}`;
}

function overlay(base: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = Object.hasOwn(merged, key) ? merged[key] : undefined;
    const result = isObject(below) && isObject(value) ? overlay(below, value) : value;
    // `__proto__` is an ordinary key here; plain assignment would set the prototype.
    Object.defineProperty(merged, key, { value: result, enumerable: true, configurable: true, writable: true });
  }
  return merged;
}

/** "Create it only if it is not there" forgets it in the next run, where it would be left alone for ever. */
function checkKept(before: Rendering, now: Rendering): void {
  const forgotten = before.names.filter((name) => now.resource(name) === undefined && !now.deleted.includes(name));
  if (forgotten.length === 0) return;
  throw new TestingError(
    "NotStable",
    `round ${now.rounds} no longer desires ${forgotten.join(", ")}, which exists since round ${before.rounds}; a resource ` +
      `must be desired in every run, and deleted with desired.delete or desired.prune`,
  );
}

/** The names of the entries that differ. What was deleted need not be deleted again, and results are not compared. */
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
