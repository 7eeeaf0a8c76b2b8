import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import type { TemplateError } from "./template-error.ts";

/** What templates are rendered for. Nothing of it is changed. */
export interface TemplatesInput {
  /** The XR. It needs the `crossplane.io/composite` label: composed resources are named after it. */
  composite: KubernetesObject;
  /** The composed resources that exist, by template name. */
  observed: ReadonlyMap<string, KubernetesObject>;
  /** Without one, patches from and to the environment do nothing, even required ones. */
  environment?: JsonObject;
  /** Called for each write to the XR and to composed resources, in order. */
  onWrite?: (write: TemplateWrite) => void;
}

/** What templates made. Shares nothing with the input that either may change. */
export interface RenderedTemplates {
  /** The XR after the patches to it. */
  composite: JsonObject;
  /** What patches set in the XR, beside `apiVersion` and `kind`; lists as a whole. Absent if they set nothing. */
  desiredComposite?: JsonObject;
  /** The environment after the patches to it. Absent if there was none. */
  environment?: JsonObject;
  /** In the order of the templates. */
  resources: RenderedTemplate[];
}

/** What became of one template. */
export interface RenderedTemplate {
  name: string;
  /** With labels, annotation and owner; with the name of the object that exists, or else a `generateName`. */
  resource?: KubernetesObject;
  /** Why there is no resource. Others are not affected. */
  error?: TemplateError;
  /** The template's index in `spec.resources`. */
  template: number;
}

/** One write of patch-and-transform into the XR or a composed resource. */
export interface TemplateWrite {
  /** The entry that was written to; null for the XR. */
  resource: string | null;
  /** Where: a concrete field path, without wildcards. */
  path: string;
  /** The template whose patch this is; absent for a patch of `environment.patches`. */
  template?: string;
  /** The patch's place as the author wrote it, such as `spec.resources[0].patches[2]` or `spec.patchSets[1].patches[0]`. */
  source: string;
  /** Where the value came from, such as `FromCompositeFieldPath spec.region`. */
  from: string;
}
