import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject } from "@xfn/functionio";
import { type Client, isApiError, type LiveObject } from "@xfn/kubernetes";
import { ApplyCache } from "../objects/apply-cache.ts";
import { conditionOf } from "../objects/conditions.ts";
import { COMPOSITIONS, DEFINITIONS, REVISIONS } from "../objects/kinds.ts";
import { textAt } from "../objects/read-objects.ts";
import { controllerCrds, PART_OF_LABEL } from "./controller-crds.ts";

/** The field manager of the CRDs that are installed at start. */
const MANAGER = "apiextensions.crossplane.io/install";

/** A server establishes a CRD within a second; one that has not after this time will not. */
const ESTABLISH_TIMEOUT_MS = 30_000;
const LOOK_AGAIN_MS = 50;

/** A CRD of our kinds that cannot be installed: another program has it, or the server does not take it. */
export class InstallError extends Error {
  override readonly name = "InstallError";
  readonly code: "CrdOfAnother" | "NotEstablished";

  constructor(code: InstallError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Installs the CRDs of {@link controllerCrds}, and waits until the server serves them. Those that are as they should
 * be are not written; those of another program, such as Crossplane itself, are not taken over.
 *
 * @throws {InstallError}
 * @throws {ApiError}
 */
export async function installCrds(client: Client, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
  const { signal } = options;
  await Promise.all(controllerCrds().map((crd) => install(client, crd, signal)));
  await listed(client, signal);
}

/** The server lists a kind a moment after it has established it. */
async function listed(client: Client, signal: AbortSignal | undefined): Promise<void> {
  const end = performance.now() + ESTABLISH_TIMEOUT_MS;
  for (const { group, version, kind } of [DEFINITIONS, COMPOSITIONS, REVISIONS]) {
    for (;;) {
      try {
        await client.kind(`${group}/${version}`, kind, { signal });
        break;
      } catch (error) {
        if (!isApiError(error, "KindNotServed") || performance.now() > end) throw error;
      }
      await sleep(LOOK_AGAIN_MS, undefined, signal && { signal });
      client.forgetKinds();
    }
  }
}

async function install(client: Client, desired: KubernetesObject, signal: AbortSignal | undefined): Promise<void> {
  const { apiVersion = "", kind = "", metadata } = desired;
  const reference = { apiVersion, kind, name: metadata?.name ?? "" };
  const find = async (): Promise<LiveObject | undefined> => {
    try {
      return await client.get(reference, { signal });
    } catch (error) {
      if (isApiError(error, "NotFound")) return undefined;
      throw error;
    }
  };
  const existing = await find();
  if (existing !== undefined && existing.metadata.labels?.[PART_OF_LABEL[0]] !== PART_OF_LABEL[1]) {
    throw new InstallError(
      "CrdOfAnother",
      `the CustomResourceDefinition ${reference.name} was installed by another program, such as Crossplane, and is left as it ` +
        `is; remove that program first, or label the CRD ${PART_OF_LABEL.join("=")} to hand it over`,
    );
  }
  let { object } = await new ApplyCache().apply(client, desired, existing, {
    fieldManager: MANAGER,
    ...(signal && { signal }),
  });
  const end = performance.now() + ESTABLISH_TIMEOUT_MS;
  while (conditionOf(object, "Established")?.["status"] !== "True") {
    if (performance.now() > end) {
      const names = conditionOf(object, "NamesAccepted");
      throw new InstallError(
        "NotEstablished",
        `the CustomResourceDefinition ${reference.name} is not established: ${textAt(names, "message") ?? "no reason given"}`,
      );
    }
    await sleep(LOOK_AGAIN_MS, undefined, signal && { signal });
    object = (await find()) ?? object;
  }
}
