import {
  API_VERSION,
  type Desired,
  type FunctionIO,
  fromResourceList,
  KIND,
  type Observed,
  type ResourceListForm,
  toResourceList,
} from "@xfn/functionio";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { readResourceList } from "../output/read-output.ts";
import { changedFields, kindOf } from "./composite-state.ts";
import type { Exchange } from "./run-step.ts";
import type { Run } from "./step.ts";
import type { StepState } from "./step-input.ts";

/**
 * Writes the state of a run as a ResourceList. Results of earlier steps stay here: KRM libraries replace the results
 * that they read, or refuse fields that they do not know.
 */
export function resourceListExchange(form: ResourceListForm, run: Run, state: StepState): Exchange {
  // Only the steps of mode: Pipeline share a context.
  const given = state.context === undefined ? overlayState(run, state) : completeState(run, state);
  return {
    input: new TextEncoder().encode(printJson(toResourceList(given, form))),
    reader: {
      kind: "ResourceList",
      read: async (output, options) => {
        const returned = fromResourceList(await readResourceList(output, options), given);
        const { desired = {}, results = [] } = returned;
        return {
          ...returned,
          // The rest of observed state was not written, so nothing can have changed it.
          observed: {},
          desired: state.context === undefined ? desired : withChanges(desired, given),
          results: [...state.results, ...results],
        };
      },
    },
  };
}

/** `functions[]`: all composed resources, and the XR as FunctionIO steps see it. */
function overlayState({ observed: { resources } }: Run, state: StepState): FunctionIO {
  return stateOf(state, { ...(resources !== undefined && { resources }) });
}

/**
 * `mode: Pipeline`: the composed resources that earlier steps desire. If the list had all of them, a function that
 * returns its items would desire undesired resources again. The same is true for fields of the XR's status.
 */
function completeState({ composite, observed }: Run, state: StepState): FunctionIO {
  const desired = new Set(state.desired.resources?.map(({ name }) => name));
  const resources = (observed.resources ?? []).filter(({ name }) => desired.has(name));
  const { status: _, ...resource }: KubernetesObject = composite;
  return stateOf(state, { composite: { resource }, resources });
}

function stateOf({ config, desired, composite }: StepState, observed: Observed): FunctionIO {
  const { composite: _, ...rest } = desired;
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    ...(config !== undefined && { config }),
    observed,
    desired: { ...rest, ...(composite !== undefined && { composite }) },
  };
}

/** Desired state with only those fields of the XR that steps changed. The function received all of it. */
function withChanges(returned: Desired, { observed, desired }: FunctionIO): Desired {
  const { composite, ...rest } = returned;
  const { resource, ...details } = composite ?? {};
  if (resource === undefined) return returned;
  const before: JsonObject = desired?.composite?.resource ?? {};
  const changed = changedFields(resource, observed.composite?.resource ?? {}, [before]);
  const hasChanges = changed !== undefined || Object.keys(before).length > 0;
  if (!hasChanges && Object.keys(details).length === 0) return rest;
  return { ...rest, composite: { ...details, ...(hasChanges && { resource: { ...kindOf(resource), ...changed } }) } };
}
