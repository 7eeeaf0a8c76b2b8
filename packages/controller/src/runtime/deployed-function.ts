import type { TargetCertificates } from "@xfn/function-grpc";
import type { DeployedFunction } from "../objects/context.ts";
import { FUNCTION_RUNTIMES, referenceOf, SECRETS } from "../objects/kinds.ts";
import { findCached, findLive, type Reader } from "../objects/read-objects.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import { runtimeName } from "../package/runtime-object.ts";
import { secretText } from "./authority.ts";
import { isDeploymentEndpoint } from "./deployment-substrate.ts";
import { secretNamesOf } from "./manifests.ts";

/** Reads runtimes, and their Secrets in the controller's namespace. */
type RuntimeReader = Reader & { readonly namespace: string };

/**
 * The Deployment's function of a package; undefined if a runner serves it.
 *
 * @param image with a digest
 * @throws {ApiError}
 */
export async function deployedFunction(reader: RuntimeReader, image: string): Promise<DeployedFunction | undefined> {
  const name = runtimeName(image);
  const runtime = await findCached(reader, FUNCTION_RUNTIMES, name);
  const endpoint = FUNCTION_RUNTIMES.of(runtime).status.endpoint;
  if (endpoint === undefined || !isDeploymentEndpoint({ endpoint })) return undefined;
  return { runtime: name, endpoint, certificates: () => clientCertificates(reader, name) };
}

async function clientCertificates(reader: RuntimeReader, runtime: string): Promise<TargetCertificates> {
  const { client } = secretNamesOf(runtime);
  const secret = await findLive(reader, referenceOf(SECRETS, client, reader.namespace));
  if (secret === undefined) {
    const message = `the Secret ${reader.namespace}/${client} does not exist; the controller creates it again`;
    throw new PackageInstallError("NoRuntime", message, { retryable: true });
  }
  return { ca: secretText(secret, "ca.crt"), cert: secretText(secret, "tls.crt"), key: secretText(secret, "tls.key") };
}
