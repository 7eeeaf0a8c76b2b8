import { objectAt, textAt } from "@xfn/json";
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
import { AUTHORITY_SECRET, encode, ensureAuthority, usableAuthority } from "./authority.ts";
import { GRPC_PORT, serviceName } from "./manifests.ts";
import { hashOf } from "./workload-objects.ts";

/** The Services of ProviderRuntimes. A runtime and its Service may follow the CRDs that name them. */
export function webhookServices(context: Context): WebhookServices {
  return {
    async of(revision, signal) {
      if (revision.kind !== PROVIDER_REVISIONS.kind || context.functionRuntimes !== true) return undefined;
      const image = textAt(revision, "spec", "image") ?? "";
      const runtime = runtimeName(image);
      const name = serviceName({ runtime, config: await runtimeConfig(context, revision, image, signal) });
      const { namespace } = context;
      const service = await findLive(context, referenceOf(SERVICES, name, namespace), signal);
      const owner = service && controllerOf(service);
      if (service !== undefined && !(owner?.kind === PROVIDER_RUNTIMES.kind && owner.name === runtime)) {
        const message =
          `the webhooks of the package need the Service ${namespace}/${name}, which belongs to another object; delete it, ` +
          "or give the Service another name in a DeploymentRuntimeConfig";
        throw new PackageInstallError("NameTaken", message, { retryable: true });
      }
      const { cert } = await ensureAuthority(context, signal);
      return { namespace, name, port: GRPC_PORT, caBundle: encode(cert), authority: authorityId(cert) };
    },
    authority() {
      const secret = context.workloads?.caches()?.(SECRETS)?.get(AUTHORITY_SECRET, context.namespace);
      const usable = usableAuthority(secret, context.now());
      return usable && authorityId(usable.cert);
    },
  };
}

function authorityId(cert: string): string {
  return hashOf(cert).slice(0, 16);
}

/** The DeploymentRuntimeConfig that the runtime of a revision has or gets; empty if there is none. */
async function runtimeConfig(context: Context, revision: LiveObject, image: string, signal: AbortSignal) {
  const runtime = context.informers.peek(PROVIDER_RUNTIMES)?.get(runtimeName(image));
  const wanted = imageSettings(context, image).runtime?.configRef ?? objectAt(revision, "spec", "runtimeConfigRef");
  const name = textAt(runtime === undefined ? wanted : objectAt(runtime, "spec", "runtimeConfigRef"), "name");
  return objectAt(await findCached(context, RUNTIME_CONFIGS, name ?? "default", signal), "spec");
}
