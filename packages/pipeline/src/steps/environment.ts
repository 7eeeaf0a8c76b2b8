import {
  type Composition,
  EnvironmentError,
  isCompatible,
  mergeEnvironment,
  selectEnvironmentConfigs,
} from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import type { CompositeResource } from "../observed/observed-entries.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import { labelled } from "./run-templates.ts";

/** Input of {@link environmentOf}. */
export interface EnvironmentInput {
  readonly composition: Composition;
  readonly composite: CompositeResource;
  /** The existing EnvironmentConfigs. */
  readonly configs: readonly JsonValue[];
}

/** The environment of one run. */
export interface SelectedEnvironment {
  /** The names of the EnvironmentConfigs, in the order in which they are merged. */
  readonly names: readonly string[];
  readonly environment: JsonObject;
}

/**
 * Selects and merges the environment of an XR; undefined if its Composition has none.
 *
 * @param choose replaces the selected names, such as by those of an earlier run
 * @throws {PipelineError} `InvalidEnvironment`
 */
export function environmentOf(
  { composition, composite, configs }: EnvironmentInput,
  choose: (names: readonly string[]) => readonly string[] = (names) => names,
): SelectedEnvironment | undefined {
  // A Composition for another kind must get its own error, not one about a missing environment.
  if (!isCompatible(composition, composite)) return undefined;
  const known = configs.filter(isObject) as readonly KubernetesObject[];
  try {
    const selected = selectEnvironmentConfigs(composition, labelled(composite), known);
    if (selected === undefined) return undefined;
    const names = choose(selected);
    return { names, environment: mergeEnvironment(composition, names, known) };
  } catch (cause) {
    if (!(cause instanceof EnvironmentError)) throw cause;
    const message = `the environment of the composite resource cannot be made: ${cause.message}`;
    throw new PipelineError("InvalidEnvironment", message, { cause, retryable: cause.retryable });
  }
}
