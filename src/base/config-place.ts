/** Where a configuration lies. */
export interface ConfigPlace {
  /** Directory of agtp-server.toml; every relative path was resolved against it. */
  readonly directory: string;
  /** The configuration file, absolute. */
  readonly file: string;
}
