import { isObject, type JsonObject } from "@xfn/functionio";
import { CRDS } from "../objects/kinds.ts";
import { objectAt, textAt } from "../objects/read-objects.ts";
import { PackageInstallError } from "./registry/install-error.ts";

/** Where the API server reaches the webhooks of a package's own runtime. */
export interface WebhookService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** Certificates in PEM, as base64. */
  readonly caBundle: string;
}

/**
 * The CRD of a package with its conversion webhook at the package's own runtime, as in Crossplane. The API server sends
 * all objects of the kind to the webhook, and stores what it returns. Authors of packages do not know the Service, so
 * theirs is only a place for it. Other objects are returned unchanged.
 *
 * @param own undefined if nothing serves webhooks of the package
 * @throws {PackageInstallError} `NotEstablished` for a webhook elsewhere
 */
export function withOwnConversion(object: JsonObject, own: WebhookService | undefined): JsonObject {
  const conversion = object["kind"] === CRDS.kind ? objectAt(object, "spec", "conversion") : {};
  const { webhook, strategy } = conversion;
  if (strategy !== "Webhook" && webhook === undefined && conversion["webhookClientConfig"] === undefined) return object;
  const title = `the CustomResourceDefinition ${textAt(object, "metadata", "name") ?? ""} of the package`;
  const config = objectAt(webhook, "clientConfig");
  if (config["url"] !== undefined || !isObject(config["service"])) {
    const place = textAt(config, "url") ?? "another place than a Service";
    throw refused(`${title} converts its objects at ${place}, which is not the package's own runtime`);
  }
  if (own === undefined) throw refused(`${title} converts its objects with a webhook, which no runtime of it serves`);
  const { namespace, name, port, caBundle } = own;
  const path = textAt(config, "service", "path");
  const service = { namespace, name, port, ...(path !== undefined && { path }) };
  const spec = objectAt(object, "spec");
  const clientConfig = { service, caBundle };
  return {
    ...object,
    spec: { ...spec, conversion: { strategy: "Webhook", webhook: { ...objectAt(webhook), clientConfig } } },
  };
}

function refused(why: string): PackageInstallError {
  const wayOut =
    "use a version of the package without that webhook, or run a Provider that serves it with --enable-function-runtimes";
  return new PackageInstallError("NotEstablished", `${why}; ${wayOut}`);
}
