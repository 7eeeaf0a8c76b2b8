import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { WrongText } from "../values/metadata-texts.ts";
import type { TemplateError } from "./template-error.ts";

/** The input of a render, which does not change it. */
export interface TemplatesInput {
  /** The XR. It needs the label `crossplane.io/composite`, from which composed resources take their names. */
  composite: KubernetesObject;
  /** The existing composed resources, by template name. */
  observed: ReadonlyMap<string, KubernetesObject>;
  /** The environment. Without it, patches from and to it do nothing, even required ones. */
  environment?: JsonObject;
  /** Called for each write to the XR and to composed resources, in order. */
  onWrite?: (write: TemplateWrite) => void;
}

/** The result of a render. It shares no mutable value with the input. */
export interface RenderedTemplates {
  /** The XR after the patches to it. */
  composite: JsonObject;
  /** The fields of the XR that patches set, with `apiVersion` and `kind`. Lists are whole. Absent if there are none. */
  desiredComposite?: JsonObject;
  /** The environment after the patches to it. Absent if there was none. */
  environment?: JsonObject;
  /** In the order of the templates. */
  resources: RenderedTemplate[];
}

/** The result of one template. */
export interface RenderedTemplate {
  name: string;
  /** The resource with labels, annotation, owner, and the name of the existing object or a `generateName`. */
  resource?: KubernetesObject;
  /** The error, if there is no resource. It does not affect other templates. */
  error?: TemplateError;
  /** Labels and annotations that the resource lacks because they are not strings. Absent if there are none. */
  dropped?: readonly WrongText[];
  /** The template's index in `spec.resources`. */
  template: number;
}

/** One write of patch-and-transform into the XR or a composed resource. */
export interface TemplateWrite {
  /** The entry of the target; null for the XR. */
  resource: string | null;
  /** The field path of the target, without wildcards. */
  path: string;
  /** The template of the patch. Absent for `environment.patches`. */
  template?: string;
  /** The path of the patch in the Composition, such as `spec.resources[0].patches[2]`. */
  source: string;
  /** The source of the value, such as `FromCompositeFieldPath spec.region`. */
  from: string;
}
