// The limits of conditions, as Kubernetes declares them
// (https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#condition-v1-meta).

const TYPE =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;
const MAX_TYPE = 316;
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const MAX_REASON = 1024;
const MAX_MESSAGE = 32_768;

/** Control characters but tabs and line feeds, and those that reorder text: terminals act on them. */
const UNSAFE = /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Why an API server would not take a condition that a function sets. A reason may be empty, as Crossplane allows.
 *
 * @returns undefined if it would
 */
export function conditionProblem({
  type,
  reason,
}: {
  readonly type: string;
  readonly reason: string;
}): string | undefined {
  if (type.length > MAX_TYPE || !TYPE.test(type))
    return `its type must be letters, digits, -, _ and ., at most ${MAX_TYPE}, after an optional domain and a slash`;
  if (reason !== "" && (reason.length > MAX_REASON || !REASON.test(reason)))
    return `its reason must be letters, digits, _, comma and colon, at most ${MAX_REASON}, and begin with a letter`;
  return undefined;
}

/** The message of a condition without characters on which terminals act, cut at the length that Kubernetes allows. */
export function conditionMessage(message: string): string {
  return message.slice(0, MAX_MESSAGE).replace(UNSAFE, "\uFFFD");
}
