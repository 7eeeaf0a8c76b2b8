/** Where an API server is and who we are to it. Read from a kubeconfig or a service account, see `loadKubeconfig`. */
export interface ClusterAccess {
  /** `https://host:port`, perhaps with a path: gateways in front of many servers have one. */
  readonly server: string;
  /** Asked for each connection, so that certificates may change. */
  tls(): Promise<TlsOptions>;
  /** Headers that say who we are, asked for each request; a promise only where something must be fetched. */
  headers(): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** The server did not take our credentials: get new ones. False: there are no others. */
  refresh(): Promise<boolean>;
  /** A proxy that connections go through: `http://host:port`. */
  readonly proxy?: string | undefined;
  /** The namespace that the kubeconfig's context or the service account has. */
  readonly namespace?: string | undefined;
}

/** What `node:tls` needs. PEM texts. */
export interface TlsOptions {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Another name than the URL's, in the server's certificate. */
  readonly serverName?: string | undefined;
  /** Nothing of the server's certificate is checked. */
  readonly insecureSkipVerify?: boolean | undefined;
}
