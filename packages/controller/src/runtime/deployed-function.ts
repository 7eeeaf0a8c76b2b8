import type { TargetCertificates } from "@xfn/function-grpc";
import { textAt } from "@xfn/json";
import type { Context, DeployedFunction } from "../objects/context.ts";
import { FUNCTION_RUNTIMES, referenceOf, SECRETS } from "../objects/kinds.ts";
import { findCached, findLive } from "../objects/read-objects.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import { runtimeName } from "../package/runtime-object.ts";
import { secretText } from "./authority.ts";
import { isDeploymentEndpoint } from "./deployment-substrate.ts";
import { secretNamesOf } from "./manifests.ts";

/**
 * The Deployment's function of a package; undefined if a runner serves it.
 *
 * @param image with a digest
 * @throws {ApiError}
 */
export async function deployedFunction(context: Context, image: string): Promise<DeployedFunction | undefined> {
  const name = runtimeName(image);
  const runtime = await findCached(context, FUNCTION_RUNTIMES, name);
  const endpoint = textAt(runtime, "status", "endpoint");
  if (endpoint === undefined || !isDeploymentEndpoint({ endpoint })) return undefined;
  return { runtime: name, endpoint, certificates: () => clientCertificates(context, name) };
}

async function clientCertificates(context: Context, runtime: string): Promise<TargetCertificates> {
  const { client } = secretNamesOf(runtime);
  const secret = await findLive(context, referenceOf(SECRETS, client, context.namespace));
  if (secret === undefined) {
    const message = `the Secret ${context.namespace}/${client} does not exist; the controller creates it again`;
    throw new PackageInstallError("NoRuntime", message, { retryable: true });
  }
  return { ca: secretText(secret, "ca.crt"), cert: secretText(secret, "tls.crt"), key: secretText(secret, "tls.key") };
}
