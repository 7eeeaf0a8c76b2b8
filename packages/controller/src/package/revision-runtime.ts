import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, conditionIn, conditionOf, isTrue } from "../objects/conditions.ts";
import { CONFIGURATION_REVISIONS, FUNCTION_RUNTIMES, PROVIDER_REVISIONS } from "../objects/kinds.ts";
import { hostEndpoint } from "./host-endpoint.ts";
import { isActive, RUNTIME_ACTIVE } from "./package-conditions.ts";
import type { Hosting, PackagePort } from "./package-port.ts";
import type { Part } from "./plan-status.ts";
import { imageOf } from "./revision-content.ts";
import { disownRuntime, ensureRuntime, isJoined, isOwnedRuntime, knownRuntime } from "./runtime-object.ts";

const SERVED: Condition = { type: "RuntimeHealthy", status: "True", reason: "HealthyPackageRevision" };

/** A provider without its program counts as installed, because its CRDs are useful. */
const NO_PROVIDER_RUNTIME: Condition = {
  type: "RuntimeHealthy",
  status: "False",
  reason: "UnhealthyPackageRevision",
  message:
    "nothing runs the program of the provider; start the controller with --enable-function-runtimes, or run it yourself",
};

/** Makes the packages of revisions callable. */
export class RevisionRuntimes {
  readonly #port: Pick<PackagePort, "cluster" | "hosting" | "images">;

  constructor(port: Pick<PackagePort, "cluster" | "hosting" | "images">) {
    this.#port = port;
  }

  /** The state of a revision's runtime, as far as the caches show it. */
  recall(revision: LiveObject): Part | undefined {
    const { cluster, hosting } = this.#port;
    const without = withoutRuntime(hosting, revision);
    if (without !== undefined) return without;
    if (!hosting.hasRuntimes) return isActive(revision) ? servedAt(hosting.host?.endpoint) : UNSERVED;
    const runtime = knownRuntime(cluster, imageOf(revision), revision);
    if (!isActive(revision)) return runtime !== undefined && isOwnedRuntime(runtime, revision) ? undefined : UNSERVED;
    return runtime !== undefined && isJoined(runtime, revision) ? mirrored(runtime) : undefined;
  }

  /** Makes the function of an active revision callable. @throws {PackageInstallError} */
  async ensure(revision: LiveObject, signal: AbortSignal): Promise<Part> {
    const { cluster, hosting } = this.#port;
    const image = imageOf(revision);
    const without = withoutRuntime(hosting, revision);
    if (without !== undefined) return without;
    if (!isActive(revision)) {
      if (hosting.hasRuntimes) await disownRuntime(cluster, image, revision, signal);
      return UNSERVED;
    }
    if (hosting.hasRuntimes) return mirrored(await ensureRuntime(this.#port, image, revision, signal));
    return servedAt(await hostEndpoint(hosting));
  }
}

/** The state of a revision whose package runs nowhere; undefined if it must run. */
function withoutRuntime({ hasRuntimes }: Hosting, revision: LiveObject): Part | undefined {
  if (revision.kind === CONFIGURATION_REVISIONS.kind) return UNSERVED;
  if (revision.kind !== PROVIDER_REVISIONS.kind || hasRuntimes) return undefined;
  return isActive(revision) ? { conditions: [NO_PROVIDER_RUNTIME], fields: {} } : UNSERVED;
}

const UNSERVED: Part = { conditions: [], fields: {} };

function servedAt(endpoint: string | undefined): Part {
  return { conditions: [SERVED], fields: { endpoint: endpoint ?? null } };
}

/** The state of a runtime, as the state of its revision. */
function mirrored(runtime: LiveObject): Part {
  const endpoint = FUNCTION_RUNTIMES.of(runtime).status.endpoint;
  const active = conditionIn(conditionOf(runtime, RUNTIME_ACTIVE) ?? {}) ?? [];
  if (isTrue(runtime, "Healthy") && endpoint !== undefined) {
    const { conditions, fields } = servedAt(endpoint);
    return { conditions: conditions.concat(active), fields };
  }
  const why = textAt(conditionOf(runtime, "Healthy"), "message") ?? "it is being prepared";
  const message = `the ${runtime.kind} ${runtime.metadata.name} is not healthy: ${why}`;
  const condition: Condition = { type: "RuntimeHealthy", status: "False", reason: "UnhealthyPackageRevision", message };
  return { conditions: [condition].concat(active), fields: {} };
}
