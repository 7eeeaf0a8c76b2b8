/** Flags of the function servers of today. Crossplane sets the variable, `crossplane render` the flag `--insecure`. */
const FLAG = /^--(?:insecure|address|network|tls-certs-dir)(?:=|$)/;

/** Whether a program is to serve gRPC instead of one FunctionIO on stdin. */
export function asksForGrpc(args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  return (env["TLS_SERVER_CERTS_DIR"] ?? "") !== "" || args.some((arg) => FLAG.test(arg));
}
