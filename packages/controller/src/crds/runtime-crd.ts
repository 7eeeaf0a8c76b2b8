import type { JsonObject, KubernetesObject } from "@xfn/json";
import { FUNCTION_RUNTIMES, PROVIDER_RUNTIMES } from "../objects/kinds.ts";
import { AGE, conditionColumn, crd, root, TEXT, version } from "./crd.ts";
import { PULL_POLICY, PULL_SECRETS, packageReference } from "./package-crds.ts";
import { RUNTIME_CONFIG } from "./runtime-config.ts";

/** The CustomResourceDefinitions of FunctionRuntimes and ProviderRuntimes. */
export function runtimeCrds(): KubernetesObject[] {
  return [FUNCTION_RUNTIMES, PROVIDER_RUNTIMES].map((kind) =>
    crd(kind, {}, [version(kind.version, RUNTIME_SCHEMA, COLUMNS, true)]),
  );
}

const COLUMNS: readonly JsonObject[] = [
  conditionColumn("HEALTHY", "Healthy"),
  { name: "PACKAGE", type: "string", jsonPath: ".spec.package" },
  AGE,
  { name: "ENDPOINT", type: "string", jsonPath: ".status.endpoint", priority: 1 },
];

const ONE_PACKAGE: JsonObject = {
  rule: "self == oldSelf",
  message: "a runtime runs one package; create another runtime",
};

const RUNTIME_SCHEMA = root(
  {
    type: "object",
    required: ["package"],
    properties: {
      package: packageReference(ONE_PACKAGE),
      pullPolicy: PULL_POLICY,
      pullSecrets: PULL_SECRETS,
      runtimeConfigRef: RUNTIME_CONFIG,
    },
  },
  { endpoint: TEXT, resolvedPackage: TEXT },
);
