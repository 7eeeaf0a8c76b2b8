import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
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
import type { WebhookServices } from "../package/own-conversion.ts";
import { imageSettings } from "../package/registry/image-configs.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import { runtimeName } from "../package/runtime-object.ts";
import { AUTHORITY_SECRET, encode, ensureAuthority, secretText, usableAuthority } from "./authority.ts";
import { certificatesIn, type KeyPair } from "./certificates.ts";
import { GRPC_PORT, secretNamesOf, serviceName } from "./manifests.ts";
import { bundle } from "./tls-secrets.ts";
import { hashOf } from "./workload-objects.ts";

/** The Services of ProviderRuntimes. A runtime and its Service may follow the CRDs that name them. */
export function webhookServices(context: Context): WebhookServices {
  return {
    async of(revision, signal) {
      if (revision.kind !== PROVIDER_REVISIONS.kind || context.functionRuntimes !== true) return undefined;
      const image = PROVIDER_REVISIONS.of(revision).spec.image ?? "";
      const runtime = runtimeName(image);
      const config = await findCached(context, RUNTIME_CONFIGS, configName(context, revision, image), signal);
      const name = serviceName({ runtime, config: RUNTIME_CONFIGS.of(config).spec.toJSON() });
      const { namespace } = context;
      const service = await findLive(context, referenceOf(SERVICES, name, namespace), signal);
      const owner = service && controllerOf(service);
      if (service !== undefined && !(owner?.kind === PROVIDER_RUNTIMES.kind && owner.name === runtime)) {
        const message =
          `the webhooks of the package need the Service ${namespace}/${name}, which belongs to another object; delete it, ` +
          "or give the Service another name in a DeploymentRuntimeConfig";
        throw new PackageInstallError("NameTaken", message, { retryable: true });
      }
      const authority = await ensureAuthority(context, signal);
      const served = await findLive(context, referenceOf(SECRETS, secretNamesOf(runtime).server, namespace), signal);
      const trusted = trustedBy(served, authority, context.now());
      return { namespace, name, port: GRPC_PORT, caBundle: encode(trusted), mark: markOf(name, trusted) };
    },
    markOf(revision) {
      const caches = context.workloads?.caches();
      const secrets = caches?.(SECRETS);
      const authority = usableAuthority(secrets?.get(AUTHORITY_SECRET, context.namespace), context.now());
      if (authority === undefined || context.informers.peek(PROVIDER_RUNTIMES) === undefined) return undefined;
      const image = PROVIDER_REVISIONS.of(revision).spec.image ?? "";
      const config = caches?.(RUNTIME_CONFIGS)?.get(configName(context, revision, image));
      const runtime = runtimeName(image);
      const served = secrets?.get(secretNamesOf(runtime).server, context.namespace);
      return markOf(
        serviceName({ runtime, config: RUNTIME_CONFIGS.of(config).spec.toJSON() }),
        trustedBy(served, authority, context.now()),
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
function configName(context: Context, revision: LiveObject, image: string): string {
  const runtime = context.informers.peek(PROVIDER_RUNTIMES)?.get(runtimeName(image));
  if (runtime !== undefined) return PROVIDER_RUNTIMES.of(runtime).spec.runtimeConfigRef.name ?? "default";
  const wanted = imageSettings(context, image).runtime?.configRef;
  const named = PROVIDER_REVISIONS.of(revision).spec.runtimeConfigRef?.name;
  return (wanted === undefined ? named : textAt(wanted, "name")) ?? "default";
}
