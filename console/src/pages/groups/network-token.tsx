// What networks report with, tab by tab. The token is fetched when it is asked for, kept out of the
// query cache, and gone after five minutes.
import "./networks.css";
import { useEffect, useState, type ReactNode } from "react";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { BASE_PATH, SERVICE_URL } from "~/base-path";
import { Button } from "~/ui/button";
import { CopyButton } from "~/ui/copy";
import { Command } from "~/ui/command";
import { Card } from "~/ui/page";
import { Tabs } from "~/ui/tabs";
import { showToast } from "~/ui/toast";
import { NETWORKS, NETWORK_NAMES, commandOf, fieldsOf, type NetworkId } from "./networks";

const SHOWN_MS = 300_000;
const HIDDEN = "‹token›";
const LOCAL = /^https?:\/\/(localhost|127\.|\[::1\])/;
const TABS = NETWORKS.map((id) => ({ id, label: NETWORK_NAMES[id] }));

function useToken(groupId: string): { token: string | null; show: () => Promise<void>; hide: () => void } {
  const [token, setToken] = useState<string | null>(null);
  useEffect(() => {
    if (token === null) return;
    const timer = setTimeout(() => setToken(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [token]);
  const show = async () => {
    try {
      const [group] = await read(api.GET("/group", { params: { query: { groupId } } }));
      setToken(group?.token ?? "");
    } catch (error) {
      showToast((error as Error).message, { tone: "bad" });
    }
  };
  return { token, show, hide: () => setToken(null) };
}

// Where the form is that the fields below are of.
function Where({ network, groupId }: { network: NetworkId; groupId: string }) {
  switch (network) {
    case "chirpstack":
      return (
        <p>
          In ChirpStack 4, open your application, then <strong>Integrations</strong>, and add <strong>HTTP</strong>.
        </p>
      );
    case "ttn":
      return (
        <p>
          In the console of The Things Stack, open your application, then <strong>Webhooks</strong>, <strong>Add webhook</strong>, <strong>Custom webhook</strong>. Enable the event types
          that you want, and leave their paths empty.
        </p>
      );
    case "loriot":
      return (
        <p>
          In LORIOT, open your application, then <strong>Output</strong>, <strong>Add new output</strong>, <strong>HTTP Push</strong>.
        </p>
      );
    case "thingpark":
      return (
        <p>
          In ThingPark Enterprise, open <strong>Connections</strong>, <strong>Add connection</strong>, <strong>Basic HTTPS</strong>, and route your devices to it. In ThingPark Wireless it is an application
          server with the same URL as its destination.
        </p>
      );
    case "vendor":
      return (
        <p>
          At the network of the vendor, open the device type, then <strong>Callbacks</strong>, <strong>New</strong>, <strong>Custom callback</strong>, with the type <strong>DATA</strong>{" "}
          <strong>UPLINK</strong> and the channel <strong>URL</strong>. The guide has the bodies of the other callbacks.
        </p>
      );
    case "mqtt":
      return <p>Devices publish to the broker that the operator of this service has configured. In the topic, sensor-1 stands for the original id of a device with the network mqtt.</p>;
    case "http":
      return (
        <p>
          A program of yours posts records of devices that you have created. Its access token is that of an{" "}
          <Link to="/g/$groupId/clients" params={{ groupId }}>
            app client
          </Link>
          , not the token of the group.
        </p>
      );
  }
}

function TryIt({ network }: { network: NetworkId }) {
  switch (network) {
    case "mqtt":
      return <p className="ink-2">Try it from a terminal, with the host of your broker:</p>;
    case "http":
      return <p className="ink-2">Try it from a terminal, with an access token in TOKEN and the id of a device in DEVICE:</p>;
    default:
      return <p className="ink-2">Or try it from a terminal first. The device does not exist yet, so the answer is 404, and the device is listed as unknown:</p>;
  }
}

const GUIDES: Readonly<Record<NetworkId, string>> = {
  chirpstack: "tutorials/chirpstack",
  ttn: "tutorials/the-things-stack",
  loriot: "guides/networks",
  thingpark: "guides/networks",
  vendor: "tutorials/vendor-network",
  mqtt: "tutorials/mqtt",
  http: "guides/records",
};

function GuideLink({ network, children }: { network: NetworkId; children: ReactNode }) {
  return (
    <a href={`${BASE_PATH}/guide/${GUIDES[network]}/`} target="_blank" rel="noopener">
      {children}
    </a>
  );
}

// On a page that has `network` in its address.
export function NetworkGuide({ groupId }: { groupId: string }) {
  const { network = "chirpstack" } = useSearch({ strict: false }) as { network?: NetworkId };
  const navigate = useNavigate();
  const choose = (next: NetworkId) => void navigate({ to: ".", search: (before: object) => ({ ...before, network: next }), replace: true, resetScroll: false } as never);
  const { token, show, hide } = useToken(groupId);
  const needsToken = network !== "http";
  const isShown = token !== null || !needsToken;
  return (
    <div className="network-guide">
      <Tabs tabs={TABS} current={network} onChoose={choose} label="Networks">
        <Where network={network} groupId={groupId} />
        <dl className="network-fields">
          {fieldsOf(network, SERVICE_URL, token ?? HIDDEN).map((field) => (
            <div key={`${field.name} ${field.value}`}>
              <dt>{field.name}</dt>
              <dd>
                <code>{field.value}</code> {(isShown || !field.value.includes(HIDDEN)) && <CopyButton text={field.value} />}
              </dd>
            </div>
          ))}
        </dl>
        {needsToken && (
          <p className="network-shown">
            {token === null ? (
              <Button look="primary" onClick={() => void show()}>
                Show the token
              </Button>
            ) : (
              <>
                <span>
                  The token of the group: <code>{token}</code> <CopyButton text={token} />
                </span>
                <Button onClick={hide}>Hide</Button>
              </>
            )}
            <span className="ink-2">Whoever has the token can report for the devices of this group and below. It reads nothing.</span>
          </p>
        )}
        {LOCAL.test(SERVICE_URL) && needsToken && network !== "mqtt" && (
          <p className="ink-2">This service is open at {SERVICE_URL}, which only this machine can reach. A network elsewhere needs an address of yours with HTTPS.</p>
        )}
        {isShown && (
          <>
            <TryIt network={network} />
            <Command text={commandOf(network, SERVICE_URL, token ?? "", groupId)} />
          </>
        )}
        <p>
          <GuideLink network={network}>Read more in the guide</GuideLink>
        </p>
      </Tabs>
    </div>
  );
}

export function NetworkToken({ groupId }: { groupId: string }) {
  return (
    <Card title="Networks" note="what they report with">
      <NetworkGuide groupId={groupId} />
    </Card>
  );
}
