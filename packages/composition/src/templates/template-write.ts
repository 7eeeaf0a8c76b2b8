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
