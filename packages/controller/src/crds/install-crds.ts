import { setTimeout as sleep } from "node:timers/promises";
import { CodedError } from "@xfn/errors";
import { type KubernetesObject, textAt } from "@xfn/json";
import { apiVersionOf, type Client, isApiError, type ResourceKind } from "@xfn/kubernetes";
import { isOwnCrd, PART_OF_LABEL } from "../kinds/define-kind.ts";
import { ApplyCache } from "../objects/apply-cache.ts";
import { conditionOf, isTrue } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { controllerCrds, kindsOf, type ServedKinds } from "./controller-crds.ts";

/** A server establishes a CRD within a second. After this time, it probably never will. */
const ESTABLISH_TIMEOUT_MS = 30_000;
const CHECK_MS = 50;

/**
 * An error of the installation of the controller's own CRDs. `CrdOfAnother`: another program installed the CRD.
 * `NotEstablished`: the server does not establish it.
 */
export class InstallError extends CodedError<"CrdOfAnother" | "NotEstablished"> {
  override readonly name = "InstallError";
  /** Whether the same installation may succeed later: a slow server may still establish the CRD. */
  override readonly retryable: boolean = this.code === "NotEstablished";
}

/**
 * Installs the CRDs of {@link controllerCrds} that differ, and waits until the server serves them. Leaves the CRDs of
 * other programs, such as Crossplane, unchanged.
 *
 * @throws {InstallError}
 * @throws {ApiError}
 */
export async function installCrds(
  client: Client,
  options: ServedKinds & { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const { signal } = options;
  await Promise.all(controllerCrds(options).map((crd) => installCrd(client, crd, signal)));
  await waitUntilServed(client, kindsOf(options), signal);
}

/** The server starts to serve a kind shortly after it has established the CRD. */
async function waitUntilServed(
  client: Client,
  kinds: readonly ResourceKind[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const end = performance.now() + ESTABLISH_TIMEOUT_MS;
  for (const kind of kinds) {
    for (;;) {
      try {
        await client.kind(apiVersionOf(kind), kind.kind, { signal });
        break;
      } catch (error) {
        if (!isApiError(error, "KindNotServed") || performance.now() > end) throw error;
      }
      await sleep(CHECK_MS, undefined, signal && { signal });
      client.forgetKinds();
    }
  }
}

/**
 * Installs one CRD if it differs, and waits until it is established.
 *
 * @returns whether it was written
 * @throws {InstallError}
 * @throws {ApiError}
 */
export async function installCrd(
  client: Client,
  desired: KubernetesObject,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const reference = referenceTo(desired);
  const existing = await findLive({ client }, reference, signal);
  if (existing !== undefined && !isOwnCrd(existing)) {
    throw new InstallError(
      "CrdOfAnother",
      `the CustomResourceDefinition ${reference.name} was installed by another program, such as Crossplane, and is left ` +
        `alone; remove that program first, or label the CRD ${PART_OF_LABEL.join("=")} to hand it over`,
    );
  }
  const options = { fieldManager: FIELD_MANAGERS.install };
  const isInstalled = existing !== undefined && new ApplyCache().isApplied(desired, existing, options);
  // With its UID, a CRD that was deleted meanwhile is not created again.
  const intent = existing && { ...desired, metadata: { ...desired.metadata, uid: existing.metadata.uid } };
  let object = isInstalled
    ? existing
    : await client.apply(intent ?? desired, { ...options, ...(signal && { signal }) });
  const end = performance.now() + ESTABLISH_TIMEOUT_MS;
  while (!isTrue(object, "Established")) {
    if (performance.now() > end) {
      const detail = textAt(conditionOf(object, "NamesAccepted"), "message") ?? "no reason given";
      throw new InstallError(
        "NotEstablished",
        `the CustomResourceDefinition ${reference.name} is not established: ${detail}`,
      );
    }
    await sleep(CHECK_MS, undefined, signal && { signal });
    object = (await findLive({ client }, reference, signal)) ?? object;
  }
  return !isInstalled;
}
