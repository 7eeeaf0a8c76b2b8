// Errors of programs without a network: C libraries, Node, Python, Go, wget and curl.
const NO_NETWORK =
  /EAI_AGAIN|ENETUNREACH|ENOTFOUND|Temporary failure in name resolution|Network is unreachable|network is unreachable|dial tcp: lookup|bad address|Could not resolve host|fetch failed/;

/**
 * The way out for an isolated function that asked for something of the network; undefined if its texts do not say so.
 *
 * @param texts - its messages and the end of its stderr
 * @param setting - the setting that gives it a network
 */
export function networkHint(texts: readonly (string | undefined)[], setting: string): string | undefined {
  if (!texts.some((text) => text !== undefined && NO_NETWORK.test(text))) return undefined;
  return `functions have no network unless ${setting}`;
}
