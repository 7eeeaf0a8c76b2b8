import { type JsonObject, objectAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { CRDS } from "../../objects/kinds.ts";
import { isManagedDefinition } from "../managed/managed-definition.ts";
import { PackageInstallError } from "../registry/install-error.ts";

/** The address at which the API server reaches the webhooks of a package's own runtime. */
export interface WebhookService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** Certificates in PEM, encoded as base64. */
  readonly caBundle: string;
  /** Identifies the Service and its authority: see {@link WebhookServices.markOf}. */
  readonly mark: string;
}

/** The Services of packages' own runtimes. */
export interface WebhookServices {
  /**
   * The Service of a revision; undefined if no runtime serves webhooks of its package.
   *
   * @throws {PackageInstallError} `NameTaken` if another object controls the Service
   * @throws {ApiError}
   */
  of(revision: LiveObject, signal: AbortSignal): Promise<WebhookService | undefined>;
  /**
   * Identifies the Service of a revision and its authority according to the caches; undefined if the caches lack them.
   * A DeploymentRuntimeConfig can rename the Service, and the authority is replaced after several years.
   */
  markOf(revision: LiveObject): string | undefined;
}

/** Whether an object of a package is a CRD or a ManagedResourceDefinition whose objects a webhook converts. */
export function convertsByWebhook(object: JsonObject): boolean {
  if (object["kind"] !== CRDS.kind && !isManagedDefinition(object)) return false;
  const { webhook, strategy, webhookClientConfig } = objectAt(object, "spec", "conversion");
  return strategy === "Webhook" || webhook !== undefined || webhookClientConfig !== undefined;
}

/**
 * The CRD of a package with its conversion webhook at the package's own runtime, as in Crossplane. The API server sends
 * all objects of the kind to the webhook, and stores what it returns. Authors of packages do not know the Service, so
 * they omit it, or name one that is replaced. Returns other objects unchanged.
 *
 * @param own undefined if no runtime serves webhooks of the package
 * @throws {PackageInstallError} `NotEstablished` for a webhook elsewhere
 */
export function withOwnConversion(object: JsonObject, own: WebhookService | undefined): JsonObject {
  if (!convertsByWebhook(object)) return object;
  const { strategy, webhook } = objectAt(object, "spec", "conversion");
  const title = `the ${textAt(object, "kind") ?? ""} ${textAt(object, "metadata", "name") ?? ""} of the package`;
  if (strategy !== "Webhook") throw refused(`${title} has a conversion webhook without strategy: Webhook`);
  const clientConfig = ownClient(`${title} converts its objects`, objectAt(webhook, "clientConfig"), own);
  const spec = objectAt(object, "spec");
  return {
    ...object,
    spec: { ...spec, conversion: { strategy: "Webhook", webhook: { ...objectAt(webhook), clientConfig } } },
  };
}

/**
 * The client configuration of a webhook at the package's own runtime, with the path of the package's.
 *
 * @param title the start of a refusal, such as `the CustomResourceDefinition a of the package converts its objects`
 * @throws {PackageInstallError} `NotEstablished` for a webhook elsewhere, or without a runtime
 */
export function ownClient(title: string, config: JsonObject, own: WebhookService | undefined): JsonObject {
  if (config["url"] !== undefined) {
    const place = textAt(config, "url") ?? "a URL";
    throw refused(`${title} at ${place}, which is not the package's own runtime`);
  }
  if (own === undefined) throw refused(`${title} with a webhook, which no runtime of it serves`);
  const { namespace, name, port, caBundle } = own;
  const path = textAt(config, "service", "path");
  return { service: { namespace, name, port, ...(path !== undefined && { path }) }, caBundle };
}

function refused(why: string): PackageInstallError {
  const wayOut =
    "use a version of the package without it; the webhooks of Providers are served with --enable-function-runtimes";
  return new PackageInstallError("NotEstablished", `${why}; ${wayOut}`);
}
