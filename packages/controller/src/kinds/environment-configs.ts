import { defineKind, type Kind } from "./define-kind.ts";
import { fieldType } from "./fields.ts";
import type { View } from "./view.ts";

/** As in Crossplane, it has no status. v1alpha1 is the version of Crossplane before 1.18. */
export const ENVIRONMENT_CONFIGS: Kind<{ readonly data: View }> = defineKind({
  group: "apiextensions.crossplane.io",
  kind: "EnvironmentConfig",
  shortNames: ["envcfg"],
  versions: ["v1beta1", "v1alpha1"],
  about: "An EnvironmentConfig has data that Compositions read.",
  fields: {
    data: fieldType<View>({
      type: "object",
      additionalProperties: { "x-kubernetes-preserve-unknown-fields": true },
    })("is any data, by name."),
  },
  hasNoStatus: true,
});
