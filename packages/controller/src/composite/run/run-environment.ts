import { type Composition, concernsEnvironment, namedEnvironmentConfigs } from "@xfn/composition";
import { type JsonObject, listAt, sameJson, textAt } from "@xfn/json";
import { type LiveObject, namingProblem } from "@xfn/kubernetes";
import { environmentOf } from "@xfn/pipeline";
import type { Actor } from "../../account/actor.ts";
import { MAX_REQUIRED_BYTES } from "../../functions/required-objects.ts";
import { asCompositeError, CompositeError } from "../../objects/composite-error.ts";
import type { Selection } from "../../objects/context.ts";
import { ENVIRONMENT_CONFIGS, referenceOf, typeMeta } from "../../objects/kinds.ts";
import type { CompositeMemory } from "../state/composite-memory.ts";
import type { CompositePort, Subject } from "../state/composite-port.ts";
import type { Shown } from "../state/shown.ts";

/** The environment of one run, and its effects on the reconcile. */
export interface RunEnvironment {
  /** Absent: the Composition has none. */
  readonly environment?: JsonObject;
  /** The fields of the XR's spec that record the selected EnvironmentConfigs. */
  readonly changes: JsonObject;
  /** The selections to watch: a change of a selected EnvironmentConfig reconciles the XR. */
  readonly selections: readonly Selection[];
}

/** The selection's key in the circuit breaker. No composed resource has this name. */
const BREAKER_KEY = "environment";

/**
 * Selects the environment of an XR from the EnvironmentConfigs of the cluster.
 *
 * As in Crossplane, `spec.environmentConfigRefs` of an XR in the layout of Crossplane 1 keeps the first selection,
 * unless the Composition has `resolve: Always`.
 *
 * @throws {CompositeError} if EnvironmentConfigs cannot be read
 * @throws {PipelineError} `InvalidEnvironment`. A change of a relevant EnvironmentConfig reconciles the XR again
 */
export async function runEnvironment(
  { actors, clock, shown }: CompositePort,
  subject: Subject,
  composition: Composition,
): Promise<RunEnvironment> {
  const { environment } = composition.spec;
  if (environment === undefined) return { changes: {}, selections: [] };
  const { memory, xr } = subject;
  const isSelecting = (environment.environmentConfigs ?? []).length > 0 || recordedNames(xr).length > 0;
  const concerns = (config: LiveObject): boolean => concernsEnvironment(composition, xr, config);
  const selections: readonly Selection[] = isSelecting ? [{ kind: ENVIRONMENT_CONFIGS, concerns }] : [];
  const configs = isSelecting
    ? await environmentConfigs(actors.composition, memory, clock.signal, namedEnvironmentConfigs(composition, xr))
    : [];
  try {
    const selected = environmentOf({ composition, composite: xr, configs }, (names) =>
      chosenNames(shown, memory, names),
    );
    if (selected === undefined) return { changes: {}, selections };
    return { environment: selected.environment, changes: recordOf(subject, composition, selected.names), selections };
  } catch (error) {
    actors.composition.required.watch(xr, selections);
    throw error;
  }
}

/**
 * Reads EnvironmentConfigs from the cache, or live: only the named ones, so that others need no memory, or all.
 *
 * @param names undefined if a selector needs all
 */
async function environmentConfigs(
  { client, required }: Pick<Actor, "client" | "required">,
  memory: CompositeMemory,
  signal: AbortSignal,
  names: readonly string[] | undefined,
): Promise<readonly LiveObject[]> {
  const cached = required.cache({ kind: ENVIRONMENT_CONFIGS });
  if (cached !== undefined) return cached.list();
  // While selections alternate, the last one is used: see chosenNames.
  const needed = names && new Set([...names, ...(memory.environment ?? [])].filter(isNameOfConfig));
  const selectors = needed ? [...needed].map((name) => `metadata.name=${name}`) : [undefined];
  const found: LiveObject[] = [];
  let left = MAX_REQUIRED_BYTES;
  for (const fieldSelector of selectors) {
    // Listing one object by name needs the same right as listing all.
    const { items, bytes = 0 } = await client
      .list(ENVIRONMENT_CONFIGS, { fieldSelector, maxBytes: left, signal })
      .catch((error: unknown) => {
        throw asCompositeError(error, "cannot read the EnvironmentConfigs of the Composition's environment", false);
      });
    left -= bytes;
    if (left < 0) throw tooLarge(names === undefined ? "cluster" : "Composition");
    found.push(...items);
  }
  return found;
}

function isNameOfConfig(name: string): boolean {
  return namingProblem(referenceOf(ENVIRONMENT_CONFIGS, name)) === undefined;
}

function tooLarge(whose: "cluster" | "Composition"): CompositeError {
  const wayOut = whose === "cluster" ? "name them instead of selecting them, remove unused ones, " : "name fewer, ";
  const message =
    `the EnvironmentConfigs of the ${whose} have more than ${MAX_REQUIRED_BYTES / 1024 / 1024} MiB; ` +
    `${wayOut}or make them smaller`;
  return new CompositeError("TooManyRequired", message);
}

/**
 * Keeps the last selection while selections alternate. Patches from the environment can change the fields and labels
 * that select it. Each reconcile would then cause the next one.
 */
function chosenNames(shown: Shown, memory: CompositeMemory, names: readonly string[]): readonly string[] {
  const { environment: last, fights: breaker } = memory;
  if (last !== undefined && sameJson([...last], [...names])) return last;
  const intent = JSON.stringify(names);
  const waitMs = breaker.waitMs(BREAKER_KEY, intent);
  if (last === undefined || waitMs === 0) {
    breaker.wrote(BREAKER_KEY, intent);
    memory.environment = names;
    return names;
  }
  shown.slow(waitMs);
  shown.fights.push(
    `the environment alternates between the EnvironmentConfigs ${titleOf(last)} and ${titleOf(names)}: it patches a field ` +
      "that selects it; remove that patch, or select by a field that no patch writes",
  );
  return last;
}

function titleOf(names: readonly string[]): string {
  return names.length === 0 ? "(none)" : names.join(", ");
}

function recordOf({ xr, layout }: Subject, { spec }: Composition, names: readonly string[]): JsonObject {
  if (!layout.isLegacy || spec.environment?.policy?.resolve === "Always") return {};
  if (names.length === 0 || recordedNames(xr).length > 0) return {};
  return { environmentConfigRefs: names.map((name) => ({ ...typeMeta(ENVIRONMENT_CONFIGS), name })) };
}

function recordedNames(xr: LiveObject): string[] {
  return listAt(xr, "spec", "environmentConfigRefs").flatMap((ref) => textAt(ref, "name") ?? []);
}
