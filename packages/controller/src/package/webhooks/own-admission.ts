import { type JsonObject, type JsonValue, listAt, objectAt, objectsAt, textAt } from "@xfn/json";
import { PackageInstallError } from "../registry/install-error.ts";
import { ownClient, type WebhookService } from "./own-conversion.ts";

/** Whether an object of a package configures admission webhooks. */
export function isAdmission(object: JsonObject): boolean {
  return textAt(object, "apiVersion")?.startsWith("admissionregistration.k8s.io/") === true;
}

/**
 * The objects of a Provider's package with its admission webhooks at the package's own runtime, as in Crossplane: one
 * configuration of each kind, named after the Provider. Without a runtime there are none, because the API server would
 * reject each write that they check.
 *
 * Unlike in Crossplane, the webhooks receive only objects of kinds that the package defines. Others could contain
 * secrets, and a webhook may change them.
 *
 * @param own undefined if no runtime serves webhooks of the package
 * @throws {PackageInstallError} `NotEstablished` for a webhook elsewhere, or for kinds of others
 */
export function withOwnAdmission(
  objects: readonly JsonObject[],
  provider: string,
  own: WebhookService | undefined,
): JsonObject[] {
  const others = objects.filter((object) => !isAdmission(object));
  if (own === undefined) return others;
  const defined = new Set(others.map((object) => textAt(object, "metadata", "name")));
  const name = `crossplane-provider-${provider}`;
  const byKind = Map.groupBy(objects.filter(isAdmission), ({ kind }) => kind);
  return [...others, ...Array.from(byKind.values(), (same) => merged(same, name, own, defined))];
}

/** @param defined the names of the package's CRDs */
function merged(
  same: readonly JsonObject[],
  name: string,
  own: WebhookService,
  defined: ReadonlySet<string | undefined>,
): JsonObject {
  const webhooks = same.flatMap((object) => objectsAt(object, "webhooks"));
  const owned = webhooks.map((webhook) => {
    const title = `the webhook ${textAt(webhook, "name") ?? ""} of the package`;
    const foreign = resourcesOf(webhook).find((resource) => !defined.has(resource));
    if (foreign !== undefined) {
      const message = `${title} checks ${foreign}, which the package does not define; use a version of the package without it`;
      throw new PackageInstallError("NotEstablished", message);
    }
    return { ...webhook, clientConfig: ownClient(`${title} is`, objectAt(webhook, "clientConfig"), own) };
  });
  return { ...same[0], metadata: { ...objectAt(same[0], "metadata"), name }, webhooks: owned };
}

/** The resources that a webhook checks, as the names of their CRDs. */
function resourcesOf(webhook: JsonObject): string[] {
  const text = (value: JsonValue): string => (typeof value === "string" ? value : "");
  return objectsAt(webhook, "rules").flatMap((rule) =>
    listAt(rule, "resources").flatMap((resource) =>
      listAt(rule, "apiGroups").map((group) => `${text(resource).split("/")[0] ?? ""}.${text(group)}`),
    ),
  );
}
