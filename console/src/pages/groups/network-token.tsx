// The token that networks report with. It is fetched when it is asked for, kept out of the query
// cache, and gone after a minute.
import { useEffect, useState } from "react";
import { api, read } from "~/api/client";
import { SERVICE_URL } from "~/base-path";
import { Button } from "~/ui/button";
import { CopyButton } from "~/ui/copy";
import { Card } from "~/ui/page";
import { showToast } from "~/ui/toast";

const SHOWN_MS = 60_000;

export function networkLines(origin: string, token: string): readonly { network: string; text: string; hint: string }[] {
  return [
    {
      network: "ChirpStack",
      text: `${origin}/network/chirpstack`,
      hint: `HTTP integration, event URL, with the header Authorization: Bearer ${token}`,
    },
    {
      network: "The Things Stack",
      text: `${origin}/network/ttn`,
      hint: `Custom webhook, JSON, with the header Authorization: Bearer ${token}`,
    },
    { network: "LORIOT", text: `${origin}/network/loriot`, hint: `HTTP push, with the authorization Bearer ${token}` },
    { network: "ThingPark", text: `${origin}/network/thingpark?token=${token}`, hint: "HTTPS connection, JSON" },
    {
      network: "The vendor's network",
      text: `curl -H "Authorization: Bearer ${token}" -d '{"device": "1FD48BE", "time": 1794816000, "data": "5F02"}' ${origin}/network/vendor/data`,
      hint: "Callbacks data, dataAdvanced, status, acknowledge and error",
    },
    { network: "MQTT", text: `longwire/${token}/<original id>/data`, hint: "Topic at the broker that the operator has configured" },
  ];
}

export function NetworkToken({ groupId }: { groupId: string }) {
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
  return (
    <Card title="Networks" note="the token that networks report with">
      <p className="ink-2">Whoever has the token can report for the devices of this group and below. It reads nothing.</p>
      {token === null ? (
        <Button onClick={() => void show()}>Show the token</Button>
      ) : (
        <>
          <p>
            <code>{token}</code> <CopyButton text={token} /> <Button onClick={() => setToken(null)}>Hide</Button>
          </p>
          {networkLines(SERVICE_URL, token).map((line) => (
            <div key={line.network} className="network-line">
              <h3>{line.network}</h3>
              <div>
                <pre>{line.text}</pre>
                <CopyButton text={line.text} />
              </div>
              <span className="ink-2">{line.hint}</span>
            </div>
          ))}
        </>
      )}
    </Card>
  );
}
