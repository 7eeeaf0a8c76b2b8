/** The field manager of everything that we apply to composed resources. */
export const FIELD_MANAGER = "apiextensions.crossplane.io/composed";
/** The finalizer of XRs, of claims and of definitions. */
export const FINALIZER_COMPOSITE = "composite.apiextensions.crossplane.io";
export const FINALIZER_CLAIM = "finalizer.apiextensions.crossplane.io";
export const FINALIZER_OFFERED = "offered.apiextensions.crossplane.io";
export const FINALIZER_DEFINED = "defined.apiextensions.crossplane.io";
/** On every CRD that a definition brings, so that those are watched and no others, of which a cluster may have thousands. */
export const LABEL_DEFINED = "apiextensions.crossplane.io/defined";
export const LABEL_COMPOSITION_NAME = "crossplane.io/composition-name";
export const LABEL_COMPOSITION_HASH = "crossplane.io/composition-hash";
/** `"true"`: nobody reconciles the object. */
export const ANNOTATION_PAUSED = "crossplane.io/paused";
export const ANNOTATION_EXTERNAL_NAME = "crossplane.io/external-name";
export const SECRET_TYPE_CONNECTION = "connection.crossplane.io/v1alpha1";
