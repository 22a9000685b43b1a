"""The app in Open OnDemand: one site for all files of this folder."""

from tests.services.passenger import ondemand_site as ondemand_site
