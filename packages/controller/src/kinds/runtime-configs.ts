import { defineKind, type Kind } from "./define-kind.ts";
import { anyFields, type Field, flag, int32, record, text, textMap } from "./fields.ts";
import { ATOMIC } from "./package-fields.ts";
import type { View } from "./view.ts";

/** The metadata that a template sets. */
function metadataOf(kind: string): Field<View> {
  return record(`is the metadata of the ${kind}.`, {
    annotations: textMap(`are added to those of the ${kind}.`),
    labels: textMap(`are added to those of the ${kind}.`),
    name: text(`is the name of the ${kind}. Defaults to the name of the runtime.`),
  });
}

/** Runtimes of packages in Deployments. As in Crossplane, it has no status, and is served as v1beta1 alone. */
export const RUNTIME_CONFIGS: Kind<{ readonly spec: View }> = defineKind({
  group: "pkg.crossplane.io",
  kind: "DeploymentRuntimeConfig",
  versions: ["v1beta1"],
  about: "A DeploymentRuntimeConfig has templates for the Deployments, Services and ServiceAccounts of runtimes.",
  fields: {
    spec: record("has the templates.", {
      deploymentTemplate: record("is merged over the Deployment of the runtime.", {
        metadata: metadataOf("Deployment"),
        spec: record("is merged over the spec of the Deployment.", {
          minReadySeconds: int32("is how long a pod must be ready to count as available."),
          paused: flag("determines whether changes of the template are not rolled out."),
          progressDeadlineSeconds: int32("is how long a rollout may make no progress."),
          replicas: int32("is the number of pods. Defaults to 1."),
          revisionHistoryLimit: int32("is the number of old ReplicaSets that are kept."),
          "selector!": anyFields("has no effect: the controller sets that of the Deployment.", ATOMIC),
          strategy: anyFields("is how new pods replace old ones."),
          "template!": record("describes the pods.", {
            metadata: anyFields("is the metadata of the pods."),
            spec: anyFields("is the PodSpec. The container package-runtime is that of the package.", {
              required: ["containers"],
              properties: {},
            }),
          }),
        }),
      }),
      serviceTemplate: record("is merged over the Service of the runtime.", {
        metadata: metadataOf("Service"),
      }),
      serviceAccountTemplate: record("is merged over the ServiceAccount of the runtime.", {
        metadata: metadataOf("ServiceAccount"),
      }),
    }),
  },
});
