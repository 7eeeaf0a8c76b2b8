import { messageOf } from "@xfn/errors";
import { listAt, textOrEmpty, valueAt } from "@xfn/json";
import { type Client, isApiError, type LiveObject, type ObjectReference, type ResourceKind } from "@xfn/kubernetes";
import { oneLine } from "@xfn/program/terminal-text";
import { isInUse, listUsages, usedBy } from "../resource-tree/usages.ts";
import type { Check } from "./check.ts";

const CONFIGURATION = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "crossplane-no-usages",
} as const;

const ENDPOINT_SLICES: ResourceKind = {
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
};

/** The objects in use that are tried. The first one that exists decides. */
const MAX_TRIED = 10;

const ENABLE = "set usages: true in the values of the chart, or start xfn-controller with --admission-webhook";
const RESTART =
  "see the log of xfn-controller; until the webhook answers, the API server refuses the deletion of objects in use";

/**
 * Checks whether usages protect objects from deletion: whether the admission webhook is configured, has pods, and
 * answers. Changes nothing.
 *
 * @throws {ApiError} if usages cannot be listed
 */
export async function diagnoseCluster(client: Client): Promise<Check[]> {
  const usages = await listUsages(client, () => true);
  if (usages === undefined) return [check("usages", "info", "the cluster does not serve Usage and ClusterUsage")];
  const configuration = await readOrUndefined(client, CONFIGURATION);
  const checks = [check("usages", "ok", `${usages.length} in the cluster`)];
  if (configuration === undefined) {
    const status = usages.length === 0 ? "info" : "fail";
    const missing = `${CONFIGURATION.name} is missing: deletions of objects in use are not denied`;
    return [...checks, { ...check("webhook", status, missing), remedy: ENABLE }];
  }
  return [...checks, ...(await podsOf(client, configuration)), await answers(client, usages)];
}

/** Whether the Service of the webhook has ready pods. No check for a webhook that is reached by a URL. */
async function podsOf(client: Client, configuration: LiveObject): Promise<Check[]> {
  const [webhook] = listAt(configuration, "webhooks");
  const name = textOrEmpty(webhook, "clientConfig", "service", "name");
  const namespace = textOrEmpty(webhook, "clientConfig", "service", "namespace");
  if (name === "") return [];
  const labelSelector = `kubernetes.io/service-name=${name}`;
  try {
    const { items } = await client.list(ENDPOINT_SLICES, { namespace, labelSelector });
    const ready = items.flatMap((slice) =>
      listAt(slice, "endpoints").filter((endpoint) => valueAt(endpoint, "conditions", "ready") !== false),
    );
    const title = `Service ${namespace}/${name}`;
    if (ready.length > 0) return [check("webhook-pods", "ok", `${title} has ${ready.length} ready`)];
    return [{ ...check("webhook-pods", "fail", `${title} has no ready pods`), remedy: RESTART }];
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
    return [check("webhook-pods", "info", `not checked: ${oneLine(error.message)}`)];
  }
}

/** Asks the API server for a dry run of the deletion of an object in use, which the webhook must deny. */
async function answers(client: Client, usages: readonly LiveObject[]): Promise<Check> {
  for (const used of usages
    .map(usedBy)
    .filter(({ name }) => name !== "")
    .slice(0, MAX_TRIED)) {
    const title = oneLine(`${used.kind} ${used.namespace === undefined ? "" : `${used.namespace}/`}${used.name}`, 200);
    try {
      const object = await readOrUndefined(client, used);
      if (object === undefined || !isInUse(object)) continue;
      await client.delete(used, { dryRun: true, preconditions: { uid: object.metadata.uid } });
      return {
        ...check("webhook", "fail", `the deletion of ${title}, which is in use, is not denied`),
        remedy: ENABLE,
      };
    } catch (error) {
      const message = oneLine(messageOf(error));
      if (isApiError(error, "Denied")) return check("webhook", "ok", `denies the deletion of ${title}`);
      if (isApiError(error, "Forbidden")) return check("webhook", "info", `not asked: ${message}`);
      return { ...check("webhook", "fail", message), remedy: RESTART };
    }
  }
  return check("webhook", "info", "configured; no object is in use, so that it cannot be asked");
}

async function readOrUndefined(client: Client, reference: ObjectReference): Promise<LiveObject | undefined> {
  return await client.get(reference).catch((error: unknown) => {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  });
}

const TITLES = { usages: "usages", webhook: "admission webhook", "webhook-pods": "its Service" } as const;

function check(id: keyof typeof TITLES, status: Check["status"], detail: string): Check {
  return { id, title: TITLES[id], status, detail };
}
