import { defineKind, type Kind } from "./define-kind.ts";
import { anyFields, type Field, flag, int32, record, text, textMap } from "./fields.ts";
import { ATOMIC } from "./package-fields.ts";
import type { View } from "./view.ts";

/** The metadata that a template sets. */
function metadataOf(kind: string): Field<View> {
  return record(`metadata is the metadata of the ${kind}.`, {
    annotations: textMap(`annotations are added to those of the ${kind}.`),
    labels: textMap(`labels are added to those of the ${kind}.`),
    name: text(`name is the name of the ${kind}. Defaults to the name of the runtime.`),
  });
}

/** Runtimes of packages in Deployments. As in Crossplane, it has no status, and is served as v1beta1 alone. */
export const RUNTIME_CONFIGS: Kind<{ readonly spec: View }> = defineKind({
  group: "pkg.crossplane.io",
  kind: "DeploymentRuntimeConfig",
  versions: ["v1beta1"],
  about: "A DeploymentRuntimeConfig has templates for the Deployments, Services and ServiceAccounts of runtimes.",
  fields: {
    spec: record("spec has the templates.", {
      deploymentTemplate: record("deploymentTemplate is merged over the Deployment of the runtime.", {
        metadata: metadataOf("Deployment"),
        spec: record("spec is merged over the spec of the Deployment.", {
          minReadySeconds: int32("minReadySeconds is how long a pod must be ready to count as available."),
          paused: flag("paused determines whether changes of the template are not rolled out."),
          progressDeadlineSeconds: int32("progressDeadlineSeconds is how long a rollout may make no progress."),
          replicas: int32("replicas is the number of pods. Defaults to 1."),
          revisionHistoryLimit: int32("revisionHistoryLimit is the number of old ReplicaSets that are kept."),
          "selector!": anyFields("selector has no effect: the controller sets that of the Deployment.", ATOMIC),
          strategy: anyFields("strategy is how new pods replace old ones."),
          "template!": record("template describes the pods.", {
            metadata: anyFields("metadata is the metadata of the pods."),
            spec: anyFields("spec is the PodSpec. The container package-runtime is that of the package.", {
              required: ["containers"],
              properties: {},
            }),
          }),
        }),
      }),
      serviceTemplate: record("serviceTemplate is merged over the Service of the runtime.", {
        metadata: metadataOf("Service"),
      }),
      serviceAccountTemplate: record("serviceAccountTemplate is merged over the ServiceAccount of the runtime.", {
        metadata: metadataOf("ServiceAccount"),
      }),
    }),
  },
});
