import { AGE, column, conditionColumn, defineKind, type Kind } from "./define-kind.ts";
import { record, type Texts, text } from "./fields.ts";
import { DEFAULT_CONFIG, packageReference, pullPolicy, pullSecrets, runtimeConfigReference } from "./package-fields.ts";
import { status } from "./status.ts";

/** The fields of runtimes that are read. */
interface Runtime {
  readonly spec: Texts<"package" | "pullPolicy"> & {
    readonly pullSecrets: readonly Texts<"name">[];
    readonly runtimeConfigRef: Texts<"name">;
  };
  readonly status: Texts<"endpoint" | "resolvedPackage">;
}

const ONE_PACKAGE = { rule: "self == oldSelf", message: "a runtime runs one package; create another runtime" };

function runtimeKind(kind: string, about: string): Kind<Runtime> {
  return defineKind({
    group: "pkg.crossplane.io",
    kind,
    // Crossplane's design "Controlled Rollout of Composition Functions (v2)" specifies no version.
    versions: ["v1alpha1"],
    about,
    fields: {
      "spec!": record("is the package that the runtime runs.", {
        "package!": packageReference("is the image of the package, with a tag or digest.", ONE_PACKAGE),
        pullPolicy: pullPolicy("is the imagePullPolicy of the runtime's Deployment."),
        pullSecrets: pullSecrets("are Secrets of the controller's namespace, with credentials for the registry."),
        runtimeConfigRef: runtimeConfigReference(
          "names the DeploymentRuntimeConfig of the runtime's Deployment. Defaults to default.",
          DEFAULT_CONFIG,
        ),
      }),
      status: status({
        endpoint: text("is the address of the running package. Absent while it does not serve."),
        resolvedPackage: text("is the image of the package, with its digest."),
      }),
    },
    columns: [
      conditionColumn("HEALTHY", "Healthy"),
      column("PACKAGE", ".spec.package"),
      AGE,
      column("ENDPOINT", ".status.endpoint", { priority: 1 }),
    ],
  });
}

export const FUNCTION_RUNTIMES: Kind<Runtime> = runtimeKind(
  "FunctionRuntime",
  "A FunctionRuntime runs one version of a function package.",
);
export const PROVIDER_RUNTIMES: Kind<Runtime> = runtimeKind(
  "ProviderRuntime",
  "A ProviderRuntime runs one version of a provider package.",
);
