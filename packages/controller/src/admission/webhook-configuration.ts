import type { JsonObject, KubernetesObject } from "@xfn/json";
import { PART_OF_LABEL } from "../kinds/define-kind.ts";
import { typeMeta, VALIDATING_WEBHOOKS } from "../objects/kinds.ts";
import { LABEL_IN_USE } from "../usage/used-object.ts";
import type { WebhookAddress } from "./webhook-address.ts";

/** The name that Crossplane's has, so that only one of the two exists. */
export const WEBHOOK_CONFIGURATION = "crossplane-no-usages";
/** The port of the Service. */
const PORT = 9443;

/** The configuration with which the API server asks this controller about deletions of objects in use. */
export function webhookConfiguration(
  address: WebhookAddress,
  { namespace, path, caBundle }: { namespace: string; path: string; caBundle: string },
): KubernetesObject {
  const at: JsonObject =
    "url" in address
      ? { url: new URL(path, address.url).href }
      : { service: { name: address.service, namespace, path, port: PORT } };
  return {
    ...typeMeta(VALIDATING_WEBHOOKS),
    metadata: { name: WEBHOOK_CONFIGURATION, labels: { [PART_OF_LABEL[0]]: PART_OF_LABEL[1] } },
    webhooks: [
      {
        name: "nousages.protection.crossplane.io",
        clientConfig: { ...at, caBundle: Buffer.from(caBundle).toString("base64") },
        rules: [{ apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["DELETE"], scope: "*" }],
        objectSelector: { matchLabels: { [LABEL_IN_USE]: "true" } },
        failurePolicy: "Fail",
        sideEffects: "NoneOnDryRun",
        admissionReviewVersions: ["v1"],
      },
    ],
  };
}
