/**
 * The label with the name of the root of a tree of XRs. Composed resources inherit it, and take their names from it.
 */
export const LABEL_COMPOSITE = "crossplane.io/composite";
/** The label with the name of the claim that an XR was made for. */
export const LABEL_CLAIM_NAME = "crossplane.io/claim-name";
/** The label with the namespace of the claim that an XR was made for. */
export const LABEL_CLAIM_NAMESPACE = "crossplane.io/claim-namespace";
/** The annotation of a composed resource with the name of its entry, such as its template. */
export const ANNOTATION_RESOURCE_NAME = "crossplane.io/composition-resource-name";
