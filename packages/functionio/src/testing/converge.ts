import { firstDifference, formatPath, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import type { ComposeFunction } from "../sdk/compose.ts";
import { copyJson, overlayJson } from "../sdk/json.ts";
import { type Invocation, type InvokeInput, invoke } from "./invoke.ts";

/** How a simulated cluster reacts to desired resources. */
export interface ConvergeOptions {
  /** The status that a resource's controller writes after the apply; undefined for none. */
  readonly status?: (name: string, resource: KubernetesObject, round: number) => object | undefined;
  /** The maximum number of rounds until nothing changes. Default 5. */
  readonly rounds?: number;
}

/** The last round of a function that converged. */
export interface Convergence extends Invocation {
  /** The number of rounds; 1 if the first output was final. */
  rounds: number;
}

const DEFAULT_ROUNDS = 5;

/**
 * Runs a function repeatedly until it desires the same twice. Each round observes the desired state of the round
 * before. This finds functions that are not idempotent: a function that creates a resource only if it does not exist
 * drops it in the next round.
 *
 * @throws {Error} if a round drops an entry of an earlier round or ends in a fatal result, or if the desired state
 *   keeps changing
 */
export async function converge<Composite extends object, Config>(
  fn: ComposeFunction<Composite, Config>,
  input: InvokeInput<Composite, Config> = {},
  options: ConvergeOptions = {},
): Promise<Convergence> {
  const rounds = options.rounds ?? DEFAULT_ROUNDS;
  let given = input;
  let before: Invocation | undefined;
  for (let round = 1; ; round++) {
    const now = await invoke(fn, given);
    if (now.fatal !== undefined) throw new Error(`round ${round} ended in a fatal result: ${now.fatal}`);
    if (before !== undefined) {
      for (const name of Object.keys(before.desired)) {
        if (before.desired[name] !== null && !(name in now.desired)) {
          throw new Error(
            `round ${round} dropped "${name}", which round ${round - 1} desired; a resource must be desired in every run, ` +
              `and deleted with desired.delete or desired.prune`,
          );
        }
      }
      const difference = firstDifference(lasting(before), lasting(now));
      if (difference === undefined) return { ...now, rounds: round - 1 };
      if (round > rounds) throw new Error(`round ${round} still changed ${formatPath(difference)}`);
    }
    given = next(given, now, round, options);
    before = now;
  }
}

/** The desired state without deletions: what was deleted need not be deleted again. */
function lasting({ output }: Invocation): JsonValue {
  const { resources, ...rest } = output.desired ?? {};
  const entries = Object.fromEntries(
    (resources ?? []).filter(({ resource }) => resource !== null).map((entry) => [entry.name, entry]),
  );
  return { ...rest, resources: entries };
}

function next<Composite extends object, Config>(
  given: InvokeInput<Composite, Config>,
  { desired, composite }: Invocation,
  round: number,
  options: ConvergeOptions,
): InvokeInput<Composite, Config> {
  const observed: { [name: string]: object } = { ...given.observed };
  for (const [name, resource] of Object.entries(desired)) {
    if (resource === null) {
      delete observed[name];
      continue;
    }
    const existing = copyJson(observed[name] ?? { metadata: { name: `${name}-made` } }, name);
    const applied = overlayJson(existing, resource) as KubernetesObject;
    const status = options.status?.(name, applied, round);
    observed[name] = status === undefined ? applied : { ...applied, status };
  }
  if (composite === undefined) return { ...given, observed };
  const xr = overlayJson(copyJson(given.xr ?? {}, "xr"), composite) as JsonObject;
  return { ...given, observed, xr: xr as unknown as NonNullable<InvokeInput<Composite, Config>["xr"]> };
}
