import { type Client, startInformers } from "@xfn/kubernetes";
import type { ListenAddress } from "@xfn/program/settings";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { SECRETS } from "../objects/kinds.ts";
import type { Logger } from "../objects/logger.ts";
import { findLive } from "../objects/read-objects.ts";
import { executeOrThrow } from "../plan/execute.ts";
import { planInOrder } from "../plan/plan.ts";
import { indexUsages, listUsagesOf } from "../usage/usage-index.ts";
import { ANNOTATION_ATTEMPT } from "../usage/used-object.ts";
import { serveAdmission } from "./admission-server.ts";
import { answerTo, type ReviewedDeletion, readReview } from "./review-deletion.ts";
import { identityIn, WEBHOOK_SECRET } from "./webhook-identity.ts";

/** The needs of {@link openAdmission}. */
export interface AdmissionPort {
  readonly client: Client;
  readonly namespace: string;
  readonly log: Logger;
  /** Called for each deletion about which the API server asked. */
  readonly onReview: (isDenied: boolean) => void;
}

// The API server waits ten seconds for an answer.
const REVIEW_MS = 8_000;

/**
 * Serves the webhook that denies deletions of objects in use, also while another replica leads. It serves with the
 * identity that the leader stores in a Secret.
 *
 * @throws {Error} if the address is in use
 */
export async function openAdmission(
  port: AdmissionPort,
  address: ListenAddress,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const { client, log, namespace, onReview } = port;
  const informers = startInformers(client, { onError: () => undefined });
  const usages = indexUsages(informers);
  const server = await serveAdmission(address, async (body) => {
    const deletion = readReview(body);
    if (deletion === undefined) return undefined;
    const signal = AbortSignal.timeout(REVIEW_MS);
    const known = usages.of(deletion.object) ?? [];
    // The cache of this replica may lag behind the leader, which has labelled the object.
    const found = known.length > 0 ? known : await listUsagesOf(client, deletion.object, signal);
    if (found.length > 0 && !deletion.isDryRun)
      await noteAttempt(client, deletion, signal).catch((error: unknown) =>
        log.warn({ error: String(error) }, "the attempt to delete an object in use was not recorded"),
      );
    onReview(found.length > 0);
    return answerTo(deletion.uid, found);
  });
  const secret = informers.acquire(SECRETS, { namespace, fieldSelector: `metadata.name=${WEBHOOK_SECRET}` });
  const use = (object: Parameters<typeof identityIn>[0]): void => {
    const identity = identityIn(object);
    if (identity !== undefined) server.use(identity);
  };
  secret.informer.subscribe({ added: use, updated: use });
  return {
    port: server.port,
    close: async () => {
      await server.close();
      usages.stop();
      secret.release();
      await informers.stop();
    },
  };
}

/** Records a denied deletion on the object, for usages that repeat it. */
async function noteAttempt(
  client: Client,
  { object, propagation }: ReviewedDeletion,
  signal: AbortSignal,
): Promise<void> {
  const seen = await findLive({ client }, object, signal);
  if (seen === undefined || seen.metadata.annotations?.[ANNOTATION_ATTEMPT] === propagation) return;
  const body = { metadata: { annotations: { [ANNOTATION_ATTEMPT]: propagation } } };
  const why = "its deletion was denied";
  const action = {
    do: "patch",
    as: "own",
    on: object,
    manager: FIELD_MANAGERS.usage,
    body,
    seen,
    guard: "uid",
    why,
  } as const;
  await executeOrThrow(planInOrder("attempt", [action]), { actors: { own: { client } }, signal });
}
