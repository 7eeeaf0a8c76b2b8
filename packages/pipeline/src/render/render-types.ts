import type { ConnectionDetails } from "@xfn/composition";
import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/json";
import type { StepResult } from "../outcome/step-result.ts";
import type { PipelineInput } from "../steps/pipeline-input.ts";

/** The input of a render: the contents of the files of `crossplane render`. */
export interface RenderInput
  extends Pick<
    PipelineInput,
    | "composition"
    | "runner"
    | "functions"
    | "webhooks"
    | "required"
    | "credentials"
    | "schemas"
    | "context"
    | "signal"
    | "auth"
    | "onStep"
    | "onPhase"
    | "onWarning"
    | "onRecord"
  > {
  /** The XR. */
  composite: JsonValue;
  /**
   * Composed resources that exist, named by their `crossplane.io/composition-resource-name` annotation, and the Secrets
   * in which they and the XR have their connection details (`spec.writeConnectionSecretToRef`).
   */
  observed?: readonly JsonValue[];
  /** The EnvironmentConfig objects from which the Composition selects its environment. Default: none. */
  environmentConfigs?: readonly JsonValue[];
  /** Whether the XR has the layout of Crossplane 1. Only for `mode: Pipeline`. */
  isLegacy?: boolean;
}

/** The output of `xfn render`, and further facts. */
export interface RenderResult {
  /** The XR: apiVersion, kind, name and the status that it would have. */
  composite: KubernetesObject;
  /** The XR with its input fields and all fields that functions desire. */
  fullComposite: KubernetesObject;
  /** The composed resources, sorted by entry name. Empty after a fatal result. */
  resources: KubernetesObject[];
  /** The names of the entries whose resources would be deleted, sorted. */
  deleted: string[];
  /** The names of the entries that are not ready, sorted; see {@link PipelineResult.unready}. */
  unready: string[];
  /** The results of the functions and the pipeline's own warnings, in order. */
  results: StepResult[];
  /** The events of the reconcile, for `mode: Pipeline`, which `crossplane render` prints as results. */
  events?: StepResult[];
  /** The context after the last step of `mode: Pipeline`. */
  context?: JsonObject;
  /** The connection details that the XR would publish. Values are never printed. */
  connectionDetails: ConnectionDetails;
  /** The names of the connection details that functions expose, with a value or not yet, sorted. */
  exposedByFunctions: string[];
  /** The result that ended the run, if there is one: nothing would be applied. */
  fatal?: StepResult;
}
