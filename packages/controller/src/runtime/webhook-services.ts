import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import {
  PROVIDER_REVISIONS,
  PROVIDER_RUNTIMES,
  RUNTIME_CONFIGS,
  referenceOf,
  SECRETS,
  SERVICES,
} from "../objects/kinds.ts";
import { controllerOf } from "../objects/owner.ts";
import { findCached, findLive } from "../objects/read-objects.ts";
import type { PackagePort } from "../package/package-port.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import { runtimeName } from "../package/runtime-object.ts";
import type { WebhookServices } from "../package/webhooks/own-conversion.ts";
import { AUTHORITY_SECRET, encode, ensureAuthority, secretText, usableAuthority } from "./authority.ts";
import { certificatesIn, type KeyPair } from "./certificates.ts";
import { hashOf } from "./hash.ts";
import { GRPC_PORT, secretNamesOf, serviceName } from "./manifests.ts";
import { DEFAULT_CONFIG } from "./observe-workload.ts";
import { bundle } from "./tls-secrets.ts";

/** The Services of ProviderRuntimes. A runtime and its Service may follow the CRDs that name them. */
export function webhookServices({ cluster, images, hosting, workloads, now }: PackagePort): WebhookServices {
  const { namespace } = cluster;
  const configName = (revision: LiveObject, runtime: string): string =>
    nameOfConfig({ cluster, images }, revision, runtime);
  return {
    async of(revision, signal) {
      if (revision.kind !== PROVIDER_REVISIONS.kind || !hosting.hasRuntimes) return undefined;
      const runtime = runtimeName(PROVIDER_REVISIONS.of(revision).spec.image ?? "");
      const config = await findCached(cluster, RUNTIME_CONFIGS, configName(revision, runtime), signal);
      const name = serviceName({ runtime, config: RUNTIME_CONFIGS.of(config).spec.toJSON() });
      const service = await findLive(cluster, referenceOf(SERVICES, name, namespace), signal);
      const owner = service && controllerOf(service);
      if (service !== undefined && !(owner?.kind === PROVIDER_RUNTIMES.kind && owner.name === runtime)) {
        const message =
          `the webhooks of the package need the Service ${namespace}/${name}, which belongs to another object; delete it, ` +
          "or give the Service another name in a DeploymentRuntimeConfig";
        throw new PackageInstallError("NameTaken", message, { retryable: true });
      }
      const authority = await ensureAuthority({ ...cluster, now }, signal);
      const served = await findLive(cluster, referenceOf(SECRETS, secretNamesOf(runtime).server, namespace), signal);
      const trusted = trustedBy(served, authority, now());
      return { namespace, name, port: GRPC_PORT, caBundle: encode(trusted), mark: markOf(name, trusted) };
    },
    markOf(revision) {
      const caches = workloads.caches();
      const secrets = caches?.(SECRETS);
      const authority = usableAuthority(secrets?.get(AUTHORITY_SECRET, namespace), now());
      if (authority === undefined || cluster.informers.peek(PROVIDER_RUNTIMES) === undefined) return undefined;
      const runtime = runtimeName(PROVIDER_REVISIONS.of(revision).spec.image ?? "");
      const config = caches?.(RUNTIME_CONFIGS)?.get(configName(revision, runtime));
      const served = secrets?.get(secretNamesOf(runtime).server, namespace);
      return markOf(
        serviceName({ runtime, config: RUNTIME_CONFIGS.of(config).spec.toJSON() }),
        trustedBy(served, authority, now()),
      );
    },
  };
}

/**
 * The authorities of a runtime's webhooks. While the authority is replaced, pods with a certificate of the previous one
 * serve until new ones are available; the runtime's Secret then names both.
 */
function trustedBy(served: LiveObject | undefined, authority: KeyPair, now: number): string {
  return bundle(authority, certificatesIn(secretText(served, "ca.crt")), now);
}

function markOf(service: string, trusted: string): string {
  return hashOf([service, GRPC_PORT, trusted]).slice(0, 16);
}

/** The name of the DeploymentRuntimeConfig that the runtime of a revision has or gets. */
function nameOfConfig(
  { cluster, images }: Pick<PackagePort, "cluster" | "images">,
  revision: LiveObject,
  runtime: string,
): string {
  const existing = cluster.informers.peek(PROVIDER_RUNTIMES)?.get(runtime);
  if (existing !== undefined) return PROVIDER_RUNTIMES.of(existing).spec.runtimeConfigRef.name ?? DEFAULT_CONFIG;
  const { image = "", runtimeConfigRef } = PROVIDER_REVISIONS.of(revision).spec;
  const wanted = images.settings(image).runtime?.configRef;
  const named = runtimeConfigRef?.name;
  return (wanted === undefined ? named : textAt(wanted, "name")) ?? DEFAULT_CONFIG;
}
